#include "operators/elementwise/abs_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Abs, UnaryOp<CPUContext, AbsFunction, NumericTypes>);
REGISTER_CPU_OPERATOR(AbsGradient, UnaryGradientOp<CPUContext, AbsFunction, FloatTypes>);

OPERATOR_SCHEMA(Abs)
    .FillUsing(UnarySchema)
    .SetDoc("Y = |X|.")
    .Input(0, "X", "A tensor of numbers, of any shape.");
OPERATOR_SCHEMA(AbsGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("Gradient of Abs: dX = dY * sign(X), 0 where X is 0.");
REGISTER_GRADIENT(Abs, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
