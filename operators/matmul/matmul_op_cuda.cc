// MatMul on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/matmul/matmul_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(MatMul, MatMulOp<CUDAContext>);

}  // namespace caffe2
