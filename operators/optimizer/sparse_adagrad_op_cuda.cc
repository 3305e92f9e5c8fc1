// SparseAdagrad and RowWiseSparseAdagrad on CUDA devices.
#include "operators/optimizer/sparse_adagrad_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseAdagrad, SparseAdagradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RowWiseSparseAdagrad, RowWiseSparseAdagradOp<CUDAContext>);

}  // namespace caffe2
