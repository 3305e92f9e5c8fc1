// GFtrl on CUDA devices.
#include "operators/optimizer/gftrl_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(GFtrl, GFtrlOp<CUDAContext>);

}  // namespace caffe2
