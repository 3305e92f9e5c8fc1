// LpPool and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/pool/lp_pool_op.h"
#include "operators/pool/pool_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LpPool, LpPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LpPoolGradient, LpPoolGradientOp<CUDAContext>);

}  // namespace caffe2
