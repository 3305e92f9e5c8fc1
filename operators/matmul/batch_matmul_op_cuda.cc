// BatchMatMul on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/matmul/batch_matmul_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BatchMatMul, BatchMatMulOp<CUDAContext>);

}  // namespace caffe2
