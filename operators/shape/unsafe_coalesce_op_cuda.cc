// UnsafeCoalesce, AsyncNetBarrier and DataCouple on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/common/no_op.h"
#include "operators/shape/unsafe_coalesce_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(UnsafeCoalesce, UnsafeCoalesceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AsyncNetBarrier, NoOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DataCouple, NoOp<CUDAContext>);

}  // namespace caffe2
