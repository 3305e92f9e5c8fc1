// MaxPool and AveragePool with their gradients on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/pool_cuda_kernels.h"
#include "operators/pool_op.h"

namespace caffe2 {
namespace {

using ImageTypes = TensorTypes<float, float16, bfloat16>;

PoolLayout LayoutOf(const PoolShape& shape, PoolKind kind) {
  PoolLayout layout;
  layout.max = kind == PoolKind::kMax;
  layout.channels_last = shape.channels_last;
  layout.count_include_pad = shape.count_include_pad;
  layout.batch = shape.batch;
  layout.channels = shape.channels;
  for (int d = 0; d < 3; ++d) {
    layout.input[d] = shape.input[d];
    layout.output[d] = shape.output[d];
    layout.kernel[d] = shape.kernel[d];
    layout.stride[d] = shape.stride[d];
    layout.pad[d] = shape.pad[d];
  }
  return layout;
}

template <PoolKind kKind>
class CudaPoolOp final : public PoolOpBase<CUDAContext> {
 public:
  using PoolOpBase<CUDAContext>::PoolOpBase;
  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    Prepare(x);
    Tensor* y = Output(0);
    y->Resize(y_dims_);
    LaunchPool(LayoutOf(shape_, kKind), x.data<T>(), y->mutable_data<T>(), context_.stream());
    return true;
  }
};

template <PoolKind kKind>
class CudaPoolGradientOp final : public PoolOpBase<CUDAContext> {
 public:
  using PoolOpBase<CUDAContext>::PoolOpBase;
  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &y = Input(1), &dy = Input(2);
    Prepare(x);
    CAFFE_ENFORCE(y.sizes() == y_dims_ && dy.sizes() == y_dims_, "Y and dY have shapes ",
                  ShapeString(y.sizes()), " and ", ShapeString(dy.sizes()), ", expected ",
                  ShapeString(y_dims_));
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    LaunchPoolGradient(LayoutOf(shape_, kKind), x.data<T>(), y.data<T>(), dy.data<T>(),
                       dx->mutable_data<T>(), context_.stream());
    return true;
  }
};

#define REGISTER_CUDA_POOL(name, kind)                      \
  REGISTER_CUDA_OPERATOR(name, CudaPoolOp<PoolKind::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, CudaPoolGradientOp<PoolKind::kind>)

REGISTER_CUDA_POOL(MaxPool, kMax);
REGISTER_CUDA_POOL(MaxPool1D, kMax);
REGISTER_CUDA_POOL(MaxPool2D, kMax);
REGISTER_CUDA_POOL(MaxPool3D, kMax);
REGISTER_CUDA_POOL(AveragePool, kAverage);
REGISTER_CUDA_POOL(AveragePool1D, kAverage);
REGISTER_CUDA_POOL(AveragePool2D, kAverage);
REGISTER_CUDA_POOL(AveragePool3D, kAverage);

}  // namespace
}  // namespace caffe2
