// AveragedLoss and its gradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/softmax_kernels.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/loss/averaged_loss_op.h"

namespace caffe2 {

template <>
bool AveragedLossOp<CUDAContext>::RunOnDevice() {
  const Tensor& x = Input(0);
  Tensor* mean = Output(0);
  mean->Resize();
  LaunchAverageLoss(x.numel(), x.data<float>(), nullptr, 1.f, mean->mutable_data<float>(),
                    context_.stream());
  return true;
}

template <>
bool AveragedLossGradientOp<CUDAContext>::RunOnDevice() {
  const Tensor &x = Input(0), &d_mean = Input(1);
  CAFFE_ENFORCE(d_mean.numel() == 1, "the gradient of the mean must have one element, found ",
                d_mean.numel());
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  LaunchFillFrom(x.numel(), 1.f / static_cast<float>(std::max<int64_t>(1, x.numel())),
                 d_mean.data<float>(), dx->mutable_data<float>(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(AveragedLoss, AveragedLossOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AveragedLossGradient, AveragedLossGradientOp<CUDAContext>);

}  // namespace caffe2
