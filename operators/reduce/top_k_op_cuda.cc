// TopK and its gradient on CUDA devices.
#include "operators/reduce/select_top_k_cuda.h"
#include "operators/reduce/top_k_op.h"

namespace caffe2 {

template <>
template <typename T>
bool TopKOp<CUDAContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const T* x_data = x.data<T>();
  const TopKOutputs<T> out = PrepareOutputs<T>(x);
  SelectTopK(out.lines, out.layout, k_, x_data, out.values, out.indices, out.flat, &context_);
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
  LaunchScatterTopK(d_values.numel(), ScatterTopK<T>{layout, k_, dy, index, dx_data},
                    context_.report(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(TopK, TopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(TopKGradient, TopKGradientOp<CUDAContext>);

}  // namespace caffe2
