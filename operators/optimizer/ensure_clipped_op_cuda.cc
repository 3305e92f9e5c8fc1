// EnsureClipped on CUDA devices.
#include "operators/optimizer/ensure_clipped_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(EnsureClipped, EnsureClippedOp<CUDAContext>);

}  // namespace caffe2
