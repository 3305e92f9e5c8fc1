#include "operators/elementwise/binary_op_cuda.h"
#include "operators/elementwise/bitwise_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BitwiseAnd, BinaryOp<CUDAContext, BitAndFunction, BitTypes>);
REGISTER_CUDA_OPERATOR(BitwiseOr, BinaryOp<CUDAContext, BitOrFunction, BitTypes>);
REGISTER_CUDA_OPERATOR(BitwiseXor, BinaryOp<CUDAContext, BitXorFunction, BitTypes>);

}  // namespace caffe2
