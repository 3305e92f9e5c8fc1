#include "operators/elementwise/replace_nan_op.h"

#include "operators/elementwise/unary_op.h"

namespace caffe2 {

ReplaceNaNFunction::ReplaceNaNFunction(const OperatorBase& op)
    : value(op.GetSingleArgument<float>("value", 0.f)) {}

REGISTER_CPU_OPERATOR(ReplaceNaN, UnaryOp<CPUContext, ReplaceNaNFunction, FloatTypes>);

OPERATOR_SCHEMA(ReplaceNaN)
    .FillUsing(UnarySchema)
    .SetDoc("Writes a value in place of each NaN.")
    .Arg<float>("value", "(default 0) The value.");
SHOULD_NOT_DO_GRADIENT(ReplaceNaN);

}  // namespace caffe2
