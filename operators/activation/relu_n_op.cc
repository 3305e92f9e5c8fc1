#include "operators/activation/relu_n_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

ReluNFunction::ReluNFunction(const OperatorBase& op)
    : limit(op.GetSingleArgument<float>("n", 6.f)) {
  CAFFE_ENFORCE(limit > 0, "argument n must be positive, found ", limit);
}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(ReluN, ReluNFunction);

OPERATOR_SCHEMA(ReluN)
    .FillUsing(UnarySchema)
    .SetDoc("Y = max(0, min(n, X)), element by element.")
    .Arg<float>("n", "(> 0, default 6) The upper bound.");
OPERATOR_SCHEMA(ReluNGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of ReluN: dX = dY where 0 < Y < n, else 0.")
    .Arg<float>("n", "As in the forward operator.");
REGISTER_GRADIENT(ReluN, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
