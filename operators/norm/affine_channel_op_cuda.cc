// AffineChannel and its gradient on CUDA devices.
#include "operators/norm/affine_channel_op.h"
#include "operators/norm/channel_affine_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(AffineChannel, AffineChannelOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AffineChannelGradient, AffineChannelGradientOp<CUDAContext>);

}  // namespace caffe2
