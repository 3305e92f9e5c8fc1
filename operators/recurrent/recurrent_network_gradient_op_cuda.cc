// The gradient of RecurrentNetwork on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/recurrent/recurrent_network_gradient_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(RecurrentNetworkGradient, RecurrentNetworkGradientOp<CUDAContext>);

}  // namespace caffe2
