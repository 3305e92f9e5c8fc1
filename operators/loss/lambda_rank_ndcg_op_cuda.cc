// LambdaRankNdcg and its gradient on CUDA devices.
#include "operators/common/device_integers.h"
#include "operators/common/host_device_cuda.h"
#include "operators/loss/ranking_loss_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LambdaRankNdcg, LambdaRankNdcgOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LambdaRankNdcgGradient, LambdaRankNdcgGradientOp<CUDAContext>);

}  // namespace caffe2
