// Ftrl on CUDA devices.
#include "operators/optimizer/ftrl_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Ftrl, FtrlOp<CUDAContext>);

}  // namespace caffe2
