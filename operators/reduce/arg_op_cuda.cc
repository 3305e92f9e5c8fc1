// ArgMax and ArgMin on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/reduce/arg_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ArgMax, ArgOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(ArgMin, ArgOp<CUDAContext, false>);

}  // namespace caffe2
