#include "operators/activation/leaky_relu_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

LeakyReluFunction::LeakyReluFunction(const OperatorBase& op)
    : alpha(op.GetSingleArgument<float>("alpha", 0.01f)) {}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(LeakyRelu, LeakyReluFunction);

OPERATOR_SCHEMA(LeakyRelu)
    .FillUsing(UnarySchema)
    .SetDoc(
        "The leaky rectifier: Y = X where X > 0, else alpha * X. The gradient needs alpha >= 0.")
    .Arg<float>("alpha", "(default 0.01) The slope for negative X.");
OPERATOR_SCHEMA(LeakyReluGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of LeakyRelu: dX = dY where Y > 0, else alpha * dY.")
    .Arg<float>("alpha", "As in the forward operator.");
REGISTER_GRADIENT(LeakyRelu, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
