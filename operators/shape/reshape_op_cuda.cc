// Reshape on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/reshape_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Reshape, ReshapeOp<CUDAContext>);

}  // namespace caffe2
