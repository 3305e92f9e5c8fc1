// MaskedAdagrad, MaskedSparseAdagrad and MaskedRowWiseSparseAdagrad on CUDA devices.
#include "operators/optimizer/masked_adagrad_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

using CudaMaskedSparseAdagradOp = MaskedSparseAdagradOp<CUDAContext, SparseUpdate>;
using CudaMaskedRowWiseSparseAdagradOp = MaskedSparseAdagradOp<CUDAContext, RowWiseUpdate>;

REGISTER_CUDA_OPERATOR(MaskedAdagrad, MaskedAdagradOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MaskedSparseAdagrad, CudaMaskedSparseAdagradOp);
REGISTER_CUDA_OPERATOR(MaskedRowWiseSparseAdagrad, CudaMaskedRowWiseSparseAdagradOp);

}  // namespace caffe2
