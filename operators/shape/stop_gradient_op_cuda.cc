// StopGradient, NegateGradient and ZeroGradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/common/copy_elements.h"
#include "operators/common/no_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(StopGradient, CopyOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NegateGradient, CopyOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ZeroGradient, NoOp<CUDAContext>);

}  // namespace caffe2
