// SigmoidFocalLoss, SoftmaxFocalLoss and their gradients on CUDA devices.
#include "operators/loss/detection_loss_cuda.h"
#include "operators/loss/focal_loss_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SigmoidFocalLoss, SigmoidFocalLossOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(SigmoidFocalLossGradient, SigmoidFocalLossOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(SoftmaxFocalLoss, SoftmaxFocalLossOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(SoftmaxFocalLossGradient, SoftmaxFocalLossOp<CUDAContext, true>);

}  // namespace caffe2
