#include "operators/activation/gelu_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

GeluFunction::GeluFunction(const OperatorBase& op)
    : fast(op.GetSingleArgument<bool>("fast_gelu", false)) {}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Gelu, GeluFunction);

OPERATOR_SCHEMA(Gelu)
    .FillUsing(UnarySchema)
    .SetDoc(
        "The Gaussian error linear unit (Hendrycks and Gimpel, 2016): Y = X * P(N(0, 1) <= X), "
        "element by element.")
    .Arg<bool>("fast_gelu", "(default false) Takes the approximation by tanh.");
OPERATOR_SCHEMA(GeluGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Gelu, from the input.")
    .Arg<bool>("fast_gelu", "As in the forward operator.");
REGISTER_GRADIENT(Gelu, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
