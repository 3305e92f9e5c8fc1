// Logit: the inverse of the sigmoid, with the gradient from X.
#include "operators/activation/activation_function_op.h"
#include "operators/common/gradient_rule.h"

namespace caffe2 {

template <>
LogitFunction ReadFunction(const OperatorBase& op) {
  const float eps = op.GetSingleArgument<float>("eps", 1e-6f);
  CAFFE_ENFORCE(eps > 0 && eps < 0.5f, "the argument eps must lie in (0, 0.5), not be ", eps);
  return {eps};
}

REGISTER_CPU_OPERATOR(Logit, CpuFunctionOp<LogitFunction>);
REGISTER_CPU_OPERATOR(LogitGradient, CpuFunctionGradientOp<LogitFunction>);

OPERATOR_SCHEMA(Logit)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = log(p / (1 - p)), where p is X moved into [eps, 1 - eps].")
    .Arg("eps", "(float in (0, 0.5), default 1e-6) The distance p keeps from 0 and 1.");
OPERATOR_SCHEMA(LogitGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Logit: dX = dY / (X (1 - X)), 0 where X was moved.")
    .Arg("eps", "As in the forward operator.");
REGISTER_GRADIENT(Logit, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
