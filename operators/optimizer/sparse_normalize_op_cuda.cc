// SparseNormalize and Float16SparseNormalize on CUDA devices.
#include "operators/optimizer/sparse_normalize_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

using NormalizeFloat = SparseNormalizeOp<CUDAContext, float>;
using NormalizeFloat16 = SparseNormalizeOp<CUDAContext, float16>;

REGISTER_CUDA_OPERATOR(SparseNormalize, NormalizeFloat);
REGISTER_CUDA_OPERATOR(Float16SparseNormalize, NormalizeFloat16);

}  // namespace caffe2
