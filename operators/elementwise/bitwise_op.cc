#include "operators/elementwise/bitwise_op.h"

#include "operators/elementwise/binary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(BitwiseAnd, BinaryOp<CPUContext, BitAndFunction, BitTypes>);
REGISTER_CPU_OPERATOR(BitwiseOr, BinaryOp<CPUContext, BitOrFunction, BitTypes>);
REGISTER_CPU_OPERATOR(BitwiseXor, BinaryOp<CPUContext, BitXorFunction, BitTypes>);

OPERATOR_SCHEMA(BitwiseAnd)
    .FillUsing(BinarySchema)
    .SetDoc("C = A & B, bit by bit, of int32, int64 or bool.");
OPERATOR_SCHEMA(BitwiseOr)
    .FillUsing(BinarySchema)
    .SetDoc("C = A | B, bit by bit, of int32, int64 or bool.");
OPERATOR_SCHEMA(BitwiseXor)
    .FillUsing(BinarySchema)
    .SetDoc("C = A ^ B, bit by bit, of int32, int64 or bool.");
SHOULD_NOT_DO_GRADIENT(BitwiseAnd);
SHOULD_NOT_DO_GRADIENT(BitwiseOr);
SHOULD_NOT_DO_GRADIENT(BitwiseXor);

}  // namespace caffe2
