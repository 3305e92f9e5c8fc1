// FC, MatMul and BatchMatMul on CUDA devices: cuBLASLt does the work, the bias included.
#include "caffe2/cuda/context_cuda.h"
#include "operators/batch_matmul_op.h"
#include "operators/fully_connected_op.h"
#include "operators/matmul_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(FC, FullyConnectedOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(FCTransposed, FullyConnectedOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(FCGradient, FullyConnectedGradientOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(FCTransposedGradient, FullyConnectedGradientOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(MatMul, MatMulOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchMatMul, BatchMatMulOp<CUDAContext>);

}  // namespace caffe2
