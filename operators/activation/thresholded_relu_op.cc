#include "operators/activation/thresholded_relu_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

ThresholdedReluFunction::ThresholdedReluFunction(const OperatorBase& op)
    : alpha(op.GetSingleArgument<float>("alpha", 1.f)) {}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(ThresholdedRelu, ThresholdedReluFunction);

OPERATOR_SCHEMA(ThresholdedRelu)
    .FillUsing(UnarySchema)
    .SetDoc("Y = X where X > alpha, else 0 (Konda et al., ICLR 2015).")
    .Arg<float>("alpha", "(default 1) The threshold.");
OPERATOR_SCHEMA(ThresholdedReluGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of ThresholdedRelu: dX = dY where Y > alpha, else 0.")
    .Arg<float>("alpha", "As in the forward operator.");
REGISTER_GRADIENT(ThresholdedRelu, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
