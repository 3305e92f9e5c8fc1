// EnsureClipped on CUDA devices.
#include "operators/common/update_rows_cuda.h"
#include "operators/optimizer/ensure_clipped_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(EnsureClipped, EnsureClippedOp<CUDAContext>);

}  // namespace caffe2
