#include "operators/activation/logit_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

LogitFunction::LogitFunction(const OperatorBase& op)
    : eps(op.GetSingleArgument<float>("eps", 1e-6f)) {
  CAFFE_ENFORCE(eps > 0 && eps < 0.5f, "argument eps must be more than 0 and less than 0.5, found ",
                eps);
}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Logit, LogitFunction);

OPERATOR_SCHEMA(Logit)
    .FillUsing(UnarySchema)
    .SetDoc("Y = log(p / (1 - p)), where p is X moved into [eps, 1 - eps].")
    .Arg<float>("eps", "(in (0, 0.5), default 1e-6) The distance p keeps from 0 and 1.");
OPERATOR_SCHEMA(LogitGradient)
    .FillUsing(UnaryGradientSchemaOfInput)
    .SetDoc("The gradient of Logit: dX = dY / (X (1 - X)), 0 where X was moved.")
    .Arg<float>("eps", "As in the forward operator.");
REGISTER_GRADIENT(Logit, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
