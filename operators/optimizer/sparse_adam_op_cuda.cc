// SparseAdam and RowWiseSparseAdam on CUDA devices.
#include "operators/optimizer/sparse_adam_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SparseAdam, SparseAdamOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RowWiseSparseAdam, RowWiseSparseAdamOp<CUDAContext>);

}  // namespace caffe2
