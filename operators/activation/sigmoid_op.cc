#include "operators/activation/sigmoid_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Sigmoid, SigmoidFunction);

OPERATOR_SCHEMA(Sigmoid)
    .FillUsing(UnarySchema)
    .SetDoc("The logistic function Y = 1 / (1 + exp(-X)), element by element.");
OPERATOR_SCHEMA(SigmoidGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Sigmoid: dX = dY * Y * (1 - Y).");
REGISTER_GRADIENT(Sigmoid, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
