// SigmoidCrossEntropyLoss and its gradient on CUDA devices.
#include "operators/loss/detection_loss_cuda.h"
#include "operators/loss/sigmoid_cross_entropy_loss_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SigmoidCrossEntropyLoss, SigmoidCrossEntropyLossOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(SigmoidCrossEntropyLossGradient,
                       SigmoidCrossEntropyLossOp<CUDAContext, true>);

}  // namespace caffe2
