// SparseFtrl on CUDA devices.
#include "operators/optimizer/sparse_ftrl_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseFtrl, SparseFtrlOp<CUDAContext>);

}  // namespace caffe2
