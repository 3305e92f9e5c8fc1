#include "operators/elementwise/negative_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Negative, UnaryOp<CPUContext, NegativeFunction, NumericTypes>);

OPERATOR_SCHEMA(Negative)
    .FillUsing(UnarySchema)
    .SetDoc("Y = -X.")
    .Input(0, "X", "A tensor of numbers, of any shape.");
REGISTER_GRADIENT(Negative, GradientRule<"Negative: GO0 -> GI0">);

}  // namespace caffe2
