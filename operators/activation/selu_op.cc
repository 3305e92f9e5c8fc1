// Selu: a scaled Elu that keeps mean and variance, with the gradient from Y.
#include "operators/activation/activation_function_op.h"

namespace caffe2 {

template <>
SeluFunction ReadFunction(const OperatorBase& op) {
  const SeluFunction f{op.GetSingleArgument<float>("alpha", 1.6732632423543772f),
                       op.GetSingleArgument<float>("scale", 1.0507009873554805f)};
  CAFFE_ENFORCE_GT(f.scale, 1, "the argument scale");
  return f;
}

namespace {

void Arguments(OpSchema& schema) {
  schema.Arg("alpha", "(float, default 1.6733) The limit for large negative X is -scale * alpha.")
      .Arg("scale", "(float > 1, default 1.0507) The slope for positive X.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Selu, CpuFunctionOp<SeluFunction>);
REGISTER_CPU_OPERATOR(SeluGradient, CpuFunctionGradientOp<SeluFunction>);

OPERATOR_SCHEMA(Selu)
    .FillUsing(ActivationSchema)
    .FillUsing(Arguments)
    .SetDoc(
        "The scaled exponential linear unit (Klambauer et al., NIPS 2017): Y = scale * X where X "
        "> 0, else scale * alpha * (exp(X) - 1).");
OPERATOR_SCHEMA(SeluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .FillUsing(Arguments)
    .SetDoc("The gradient of Selu: dX = dY * scale where Y > 0, else dY * (Y + scale * alpha).");
REGISTER_GRADIENT(Selu, GetActivationGradientOfOutput);

}  // namespace caffe2
