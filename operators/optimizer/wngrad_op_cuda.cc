// Wngrad and SparseWngrad on CUDA devices.
#include "operators/optimizer/update_op_cuda.h"
#include "operators/optimizer/wngrad_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Wngrad, WngradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseWngrad, SparseWngradOp<CUDAContext>);

}  // namespace caffe2
