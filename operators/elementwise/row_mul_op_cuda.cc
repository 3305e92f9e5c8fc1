#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/row_mul_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(RowMul, RowMulOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReduceTailSum, ReduceTailSumOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReduceFrontWeightedSum, ReduceFrontWeightedSumOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReduceFrontWeightedSumGradient,
                       ReduceFrontWeightedSumGradientOp<CUDAContext>);

}  // namespace caffe2
