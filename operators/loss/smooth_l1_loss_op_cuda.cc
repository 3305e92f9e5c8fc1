// SmoothL1Loss, SelectSmoothL1Loss and their gradients on CUDA devices.
#include "operators/loss/detection_loss_cuda.h"
#include "operators/loss/smooth_l1_loss_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SmoothL1Loss, SmoothL1LossOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(SmoothL1LossGradient, SmoothL1LossOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(SelectSmoothL1Loss, SelectSmoothL1LossOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(SelectSmoothL1LossGradient, SelectSmoothL1LossOp<CUDAContext, true>);

}  // namespace caffe2
