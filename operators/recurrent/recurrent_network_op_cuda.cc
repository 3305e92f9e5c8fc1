// RecurrentNetwork on CUDA devices. Its step nets have operators with devices of their own.
#include "caffe2/cuda/context_cuda.h"
#include "operators/recurrent/recurrent_network_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(RecurrentNetwork, RecurrentNetworkOp<CUDAContext>);

}  // namespace caffe2
