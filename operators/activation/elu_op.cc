#include "operators/activation/elu_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

EluFunction::EluFunction(const OperatorBase& op)
    : alpha(op.GetSingleArgument<float>("alpha", 1.f)) {}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Elu, EluFunction);

OPERATOR_SCHEMA(Elu)
    .FillUsing(UnarySchema)
    .SetDoc(
        "The exponential linear unit (Clevert et al., ICLR 2016): Y = X where X > 0, else alpha * "
        "(exp(X) - 1).")
    .Arg<float>("alpha", "(default 1) The limit for large negative X is -alpha.");
OPERATOR_SCHEMA(EluGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Elu: dX = dY where Y > 0, else dY * (Y + alpha).")
    .Arg<float>("alpha", "As in the forward operator.");
REGISTER_GRADIENT(Elu, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
