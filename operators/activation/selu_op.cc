#include "operators/activation/selu_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

void Arguments(OpSchema& schema) {
  schema.Arg<float>("alpha", "(default 1.6733) The limit for large negative X is -scale * alpha.")
      .Arg<float>("scale", "(> 1, default 1.0507) The slope for positive X.");
}

}  // namespace

SeluFunction::SeluFunction(const OperatorBase& op)
    : alpha(op.GetSingleArgument<float>("alpha", 1.6732632423543772f)),
      scale(op.GetSingleArgument<float>("scale", 1.0507009873554805f)) {
  CAFFE_ENFORCE(scale > 1, "argument scale must be more than 1, found ", scale);
}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Selu, SeluFunction);

OPERATOR_SCHEMA(Selu)
    .FillUsing(UnarySchema)
    .FillUsing(Arguments)
    .SetDoc(
        "The scaled exponential linear unit (Klambauer et al., NIPS 2017): Y = scale * X where X "
        "> 0, else scale * alpha * (exp(X) - 1).");
OPERATOR_SCHEMA(SeluGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .FillUsing(Arguments)
    .SetDoc("The gradient of Selu: dX = dY * scale where Y > 0, else dY * (Y + scale * alpha).");
REGISTER_GRADIENT(Selu, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
