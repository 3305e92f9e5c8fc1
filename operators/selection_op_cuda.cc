// ArgMax, ArgMin and TopK on CUDA devices.
#include "operators/arg_op.h"
#include "operators/portable_cuda.h"
#include "operators/selection_kernels.h"
#include "operators/top_k_op.h"

namespace caffe2 {

template <>
template <typename T>
bool TopKOp<CUDAContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const T* x_data = x.data<T>();
  const TopKOutputs<T> out = PrepareOutputs<T>(x);
  Tensor storage(context_.device());
  uint64_t* keys = nullptr;
  if (const int64_t count = TopKKeys(out.lines, out.layout.n, k_, sizeof(T)); count > 0) {
    storage.Resize(count);
    keys = reinterpret_cast<uint64_t*>(storage.mutable_data<int64_t>());
  }
  LaunchTopK(out.lines, out.layout, k_, x_data, out.values, out.indices, out.flat, keys,
             context_.stream());
  return true;
}

template <>
template <typename T>
bool TopKGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &d_values = Input(0), &indices = Input(1);
  const LineLayout layout = CheckInputs();
  const T* dy = d_values.data<T>();
  const int64_t* index = indices.data<int64_t>();
  Tensor* dx = Output(0);
  dx->ResizeLike(Input(2));
  T* dx_data = dx->mutable_data<T>();
  if (dx->numel() > 0) cuda::SetBytesAsync(dx_data, 0, dx->nbytes(), context_.stream());
  LaunchPutTopK(d_values.numel(), PutTopK<T>{layout, k_, dy, index, dx_data}, context_.report(),
                context_.stream());
  return true;
}

namespace {

using ArgMax = ArgOp<CUDAContext, true>;
using ArgMin = ArgOp<CUDAContext, false>;

REGISTER_CUDA_OPERATOR(ArgMax, ArgMax);
REGISTER_CUDA_OPERATOR(ArgMin, ArgMin);
REGISTER_CUDA_OPERATOR(TopK, TopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(TopKGradient, TopKGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
