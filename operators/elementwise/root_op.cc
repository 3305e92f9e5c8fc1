// Fixed powers: Reciprocal (X^-1), Rsqrt (X^-1/2), Cbrt (X^1/3) and Cube (X^3).
#include "operators/activation/activation_function_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Reciprocal, CpuFunctionOp<ReciprocalFunction>);
REGISTER_CPU_OPERATOR(ReciprocalGradient, CpuFunctionGradientOp<ReciprocalFunction>);
REGISTER_CPU_OPERATOR(Rsqrt, CpuFunctionOp<RsqrtFunction>);
REGISTER_CPU_OPERATOR(RsqrtGradient, CpuFunctionGradientOp<RsqrtFunction>);
REGISTER_CPU_OPERATOR(Cbrt, CpuFunctionOp<CbrtFunction>);
REGISTER_CPU_OPERATOR(CbrtGradient, CpuFunctionGradientOp<CbrtFunction>);
REGISTER_CPU_OPERATOR(Cube, CpuFunctionOp<CubeFunction>);
REGISTER_CPU_OPERATOR(CubeGradient, CpuFunctionGradientOp<CubeFunction>);

OPERATOR_SCHEMA(Reciprocal)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = 1 / X, element by element; infinite where X is 0.");
OPERATOR_SCHEMA(ReciprocalGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Reciprocal: dX = -dY * Y^2.");
OPERATOR_SCHEMA(Rsqrt)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = 1 / sqrt(X), element by element; NaN where X is negative.");
OPERATOR_SCHEMA(RsqrtGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Rsqrt: dX = -dY * Y^3 / 2.");
OPERATOR_SCHEMA(Cbrt)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = the cube root of X, element by element, with its sign.");
OPERATOR_SCHEMA(CbrtGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Cbrt: dX = dY / (3 Y^2); infinite or NaN where Y is 0.");
OPERATOR_SCHEMA(Cube).FillUsing(ActivationSchema).SetDoc("Y = X^3, element by element.");
OPERATOR_SCHEMA(CubeGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Cube: dX = 3 dY * X^2.");
REGISTER_GRADIENT(Reciprocal, GetActivationGradientOfOutput);
REGISTER_GRADIENT(Rsqrt, GetActivationGradientOfOutput);
REGISTER_GRADIENT(Cbrt, GetActivationGradientOfOutput);
REGISTER_GRADIENT(Cube, GetActivationGradientOfInput);

}  // namespace caffe2
