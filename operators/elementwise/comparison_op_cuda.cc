#include "operators/elementwise/binary_op_cuda.h"
#include "operators/elementwise/comparison_op.h"

namespace caffe2 {

template <class Types, class F>
using Comparison = BinaryOp<CUDAContext, F, Types, FixedType<bool>>;

REGISTER_CUDA_OPERATOR(EQ, Comparison<EqualityTypes, EqualFunction>);
REGISTER_CUDA_OPERATOR(NE, Comparison<EqualityTypes, NotEqualFunction>);
REGISTER_CUDA_OPERATOR(LT, Comparison<OrderTypes, LessFunction>);
REGISTER_CUDA_OPERATOR(LE, Comparison<OrderTypes, LessEqualFunction>);
REGISTER_CUDA_OPERATOR(GT, Comparison<OrderTypes, GreaterFunction>);
REGISTER_CUDA_OPERATOR(GE, Comparison<OrderTypes, GreaterEqualFunction>);
REGISTER_CUDA_OPERATOR(And, Comparison<BoolTypes, AndFunction>);
REGISTER_CUDA_OPERATOR(Or, Comparison<BoolTypes, OrFunction>);
REGISTER_CUDA_OPERATOR(Xor, Comparison<BoolTypes, NotEqualFunction>);
REGISTER_CUDA_OPERATOR(Not, UnaryOp<CUDAContext, NotFunction, BoolTypes>);

}  // namespace caffe2
