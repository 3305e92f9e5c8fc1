// Clipped lines: HardSigmoid, max(0, min(1, alpha X + beta)), and ReluN, max(0, min(n, X)).
#include "operators/activation/activation_function_op.h"

namespace caffe2 {

template <>
HardSigmoidFunction ReadFunction(const OperatorBase& op) {
  return {op.GetSingleArgument<float>("alpha", 0.2f), op.GetSingleArgument<float>("beta", 0.5f)};
}
template <>
ReluNFunction ReadFunction(const OperatorBase& op) {
  const float limit = op.GetSingleArgument<float>("n", 6.f);
  CAFFE_ENFORCE_GT(limit, 0, "the argument n leaves nothing");
  return {limit};
}

REGISTER_CPU_OPERATOR(HardSigmoid, CpuFunctionOp<HardSigmoidFunction>);
REGISTER_CPU_OPERATOR(HardSigmoidGradient, CpuFunctionGradientOp<HardSigmoidFunction>);
REGISTER_CPU_OPERATOR(ReluN, CpuFunctionOp<ReluNFunction>);
REGISTER_CPU_OPERATOR(ReluNGradient, CpuFunctionGradientOp<ReluNFunction>);

OPERATOR_SCHEMA(HardSigmoid)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = max(0, min(1, alpha * X + beta)), element by element.")
    .Arg("alpha", "(float, default 0.2) The slope.")
    .Arg("beta", "(float, default 0.5) The value at 0.");
OPERATOR_SCHEMA(HardSigmoidGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of HardSigmoid: dX = alpha * dY where 0 < Y < 1, else 0.")
    .Arg("alpha", "As in the forward operator.");
OPERATOR_SCHEMA(ReluN)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = max(0, min(n, X)), element by element.")
    .Arg("n", "(float, default 6) The upper bound, above 0.");
OPERATOR_SCHEMA(ReluNGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of ReluN: dX = dY where 0 < Y < n, else 0.")
    .Arg("n", "As in the forward operator.");
REGISTER_GRADIENT(HardSigmoid, GetActivationGradientOfOutput);
REGISTER_GRADIENT(ReluN, GetActivationGradientOfOutput);

}  // namespace caffe2
