// FC_Prune and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/matmul/fully_connected_prune_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(FC_Prune, FCPruneOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FCGradient_Prune, FCPruneGradientOp<CUDAContext>);

}  // namespace caffe2
