// FC, FCTransposed and their gradients on CUDA devices: cuBLASLt multiplies the matrices and adds
// the bias.
#include "operators/common/host_device_cuda.h"
#include "operators/matmul/fully_connected_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(FC, FullyConnectedOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(FCTransposed, FullyConnectedOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(FCGradient, FullyConnectedGradientOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(FCTransposedGradient, FullyConnectedGradientOp<CUDAContext, true>);

}  // namespace caffe2
