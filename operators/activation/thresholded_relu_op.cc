// ThresholdedRelu: Y = X where X > alpha, else 0, with the gradient from Y.
#include "operators/activation/activation_function_op.h"

namespace caffe2 {

template <>
ThresholdedReluFunction ReadFunction(const OperatorBase& op) {
  return {op.GetSingleArgument<float>("alpha", 1.f)};
}

REGISTER_CPU_OPERATOR(ThresholdedRelu, CpuFunctionOp<ThresholdedReluFunction>);
REGISTER_CPU_OPERATOR(ThresholdedReluGradient, CpuFunctionGradientOp<ThresholdedReluFunction>);

OPERATOR_SCHEMA(ThresholdedRelu)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = X where X > alpha, else 0 (Konda et al., ICLR 2015).")
    .Arg("alpha", "(float, default 1) The threshold.");
OPERATOR_SCHEMA(ThresholdedReluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of ThresholdedRelu: dX = dY where Y > alpha, else 0.")
    .Arg("alpha", "As in the forward operator.");
REGISTER_GRADIENT(ThresholdedRelu, GetActivationGradientOfOutput);

}  // namespace caffe2
