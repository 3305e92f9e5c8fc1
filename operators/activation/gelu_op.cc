// Erf, and Gelu, the gate by the normal distribution: Y = X * P(N(0, 1) <= X).
#include "operators/activation/activation_function_op.h"

namespace caffe2 {

template <>
GeluFunction ReadFunction(const OperatorBase& op) {
  return {op.GetSingleArgument<bool>("fast_gelu", false)};
}

REGISTER_CPU_OPERATOR(Erf, CpuFunctionOp<ErfFunction>);
REGISTER_CPU_OPERATOR(ErfGradient, CpuFunctionGradientOp<ErfFunction>);
REGISTER_CPU_OPERATOR(Gelu, CpuFunctionOp<GeluFunction>);
REGISTER_CPU_OPERATOR(GeluGradient, CpuFunctionGradientOp<GeluFunction>);

OPERATOR_SCHEMA(Erf)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = erf(X), the error function, element by element.");
OPERATOR_SCHEMA(ErfGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Erf: dX = dY * 2 / sqrt(pi) * exp(-X^2).");
OPERATOR_SCHEMA(Gelu)
    .FillUsing(ActivationSchema)
    .SetDoc(
        "The Gaussian error linear unit (Hendrycks and Gimpel, 2016): Y = X * P(N(0, 1) <= X), "
        "element by element.")
    .Arg("fast_gelu", "(bool, default false) Takes the approximation by tanh.");
OPERATOR_SCHEMA(GeluGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Gelu, from the input.")
    .Arg("fast_gelu", "As in the forward operator.");
REGISTER_GRADIENT(Erf, GetActivationGradientOfInput);
REGISTER_GRADIENT(Gelu, GetActivationGradientOfInput);

}  // namespace caffe2
