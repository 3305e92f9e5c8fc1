// FC, FC_Prune, FC_Sparse, TT, MatMul and BatchMatMul on CUDA devices: cuBLASLt multiplies dense
// matrices, and adds the bias of FC.
#include "operators/common/portable_cuda.h"
#include "operators/matmul/batch_matmul_op.h"
#include "operators/matmul/fully_connected_op.h"
#include "operators/matmul/fully_connected_prune_op.h"
#include "operators/matmul/fully_connected_sparse_op.h"
#include "operators/matmul/matmul_op.h"
#include "operators/matmul/tt_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(FC, FullyConnectedOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(FCTransposed, FullyConnectedOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(FCGradient, FullyConnectedGradientOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(FCTransposedGradient, FullyConnectedGradientOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(FC_Prune, FCPruneOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FCGradient_Prune, FCPruneGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FC_Sparse, FullyConnectedSparseOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(TT, TtOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MatMul, MatMulOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchMatMul, BatchMatMulOp<CUDAContext>);

}  // namespace caffe2
