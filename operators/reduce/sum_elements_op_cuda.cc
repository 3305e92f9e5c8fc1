// SumElements, SumElementsInt, SumSqrElements and the gradient of SumElements on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/common/element_type.h"
#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {
namespace {

// A sum over all elements of a tensor.
template <cuda::Total kTotal, class Types>
class CudaElementsOp final : public Operator<CUDAContext> {
 public:
  CudaElementsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), average_(GetSingleArgument<bool>("average", false)) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->Resize();
    Tensor scratch(context_.device());
    scratch.Resize(cuda::kTotalScratch);
    const double scale = average_ && X.numel() > 0 ? 1.0 / static_cast<double>(X.numel()) : 1.0;
    cuda::LaunchTotal(kTotal, X.numel(), x, scale, scratch.mutable_data<double>(),
                      Y->template mutable_data<T>(), context_.stream());
    return true;
  }

 private:
  bool average_;
};

class CudaSumElementsGradientOp final : public Operator<CUDAContext> {
 public:
  CudaSumElementsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), average_(GetSingleArgument<bool>("average", false)) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &dY = Input(1);
    CAFFE_ENFORCE(dY.numel() == 1, "the gradient of a sum must have one element, found ",
                  dY.numel());
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    const float factor = average_ && X.numel() > 0 ? 1.f / static_cast<float>(X.numel()) : 1.f;
    LaunchFillFrom(X.numel(), factor, dY.data<T>(), dX->template mutable_data<T>(),
                   context_.stream());
    return true;
  }

 private:
  bool average_;
};

REGISTER_CUDA_OPERATOR(SumElements, CudaElementsOp<cuda::Total::kSum, FloatTypes>);
REGISTER_CUDA_OPERATOR(SumElementsInt, CudaElementsOp<cuda::Total::kSum, IntegerTypes>);
REGISTER_CUDA_OPERATOR(SumSqrElements, CudaElementsOp<cuda::Total::kSquareSum, FloatTypes>);
REGISTER_CUDA_OPERATOR(SumElementsGradient, CudaSumElementsGradientOp);

}  // namespace
}  // namespace caffe2
