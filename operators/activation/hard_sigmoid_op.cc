#include "operators/activation/hard_sigmoid_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

HardSigmoidFunction::HardSigmoidFunction(const OperatorBase& op)
    : alpha(op.GetSingleArgument<float>("alpha", 0.2f)),
      beta(op.GetSingleArgument<float>("beta", 0.5f)) {}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(HardSigmoid, HardSigmoidFunction);

OPERATOR_SCHEMA(HardSigmoid)
    .FillUsing(UnarySchema)
    .SetDoc("Y = max(0, min(1, alpha * X + beta)), element by element.")
    .Arg<float>("alpha", "(default 0.2) The slope.")
    .Arg<float>("beta", "(default 0.5) The value at 0.");
OPERATOR_SCHEMA(HardSigmoidGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of HardSigmoid: dX = alpha * dY where 0 < Y < 1, else 0.")
    .Arg<float>("alpha", "As in the forward operator.");
REGISTER_GRADIENT(HardSigmoid, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
