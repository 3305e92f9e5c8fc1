#include "operators/elementwise/log_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Log, UnaryOp<CPUContext, LogFunction, FloatTypes>);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Log1p, Log1pFunction);

OPERATOR_SCHEMA(Log).FillUsing(UnarySchema).SetDoc("Y = the natural logarithm of X.");
OPERATOR_SCHEMA(Log1p)
    .FillUsing(UnarySchema)
    .SetDoc("Y = log(1 + X), precise near 0; NaN where X < -1.");
OPERATOR_SCHEMA(Log1pGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Log1p: dX = dY / (1 + X).");
REGISTER_GRADIENT(Log, GradientRule<"Div: GO0 I0 -> GI0">);
REGISTER_GRADIENT(Log1p, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
