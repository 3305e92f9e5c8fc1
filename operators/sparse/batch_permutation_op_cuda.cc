// BatchPermutation and its gradient on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/sparse/batch_permutation_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BatchPermutation, BatchPermutationOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchPermutationGradient, BatchPermutationGradientOp<CUDAContext>);

}  // namespace caffe2
