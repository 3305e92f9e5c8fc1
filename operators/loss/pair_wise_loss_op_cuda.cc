// PairWiseLoss and its gradient on CUDA devices.
#include "operators/common/device_integers.h"
#include "operators/common/host_device_cuda.h"
#include "operators/loss/ranking_loss_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(PairWiseLoss, PairWiseLossOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PairWiseLossGradient, PairWiseLossGradientOp<CUDAContext>);

}  // namespace caffe2
