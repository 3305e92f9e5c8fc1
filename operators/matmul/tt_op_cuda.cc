// TT on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/matmul/tt_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(TT, TtOp<CUDAContext>);

}  // namespace caffe2
