// Tan, Asin, Acos, Atan, Sinh, Cosh and Log1p, with gradients from X.
#include "operators/activation/activation_function_op.h"

namespace caffe2 {
namespace {

void GradientOf(OpSchema& schema) { schema.FillUsing(ActivationGradientSchemaOfInput); }

}  // namespace

REGISTER_CPU_OPERATOR(Tan, CpuFunctionOp<TanFunction>);
REGISTER_CPU_OPERATOR(TanGradient, CpuFunctionGradientOp<TanFunction>);
REGISTER_CPU_OPERATOR(Asin, CpuFunctionOp<AsinFunction>);
REGISTER_CPU_OPERATOR(AsinGradient, CpuFunctionGradientOp<AsinFunction>);
REGISTER_CPU_OPERATOR(Acos, CpuFunctionOp<AcosFunction>);
REGISTER_CPU_OPERATOR(AcosGradient, CpuFunctionGradientOp<AcosFunction>);
REGISTER_CPU_OPERATOR(Atan, CpuFunctionOp<AtanFunction>);
REGISTER_CPU_OPERATOR(AtanGradient, CpuFunctionGradientOp<AtanFunction>);
REGISTER_CPU_OPERATOR(Sinh, CpuFunctionOp<SinhFunction>);
REGISTER_CPU_OPERATOR(SinhGradient, CpuFunctionGradientOp<SinhFunction>);
REGISTER_CPU_OPERATOR(Cosh, CpuFunctionOp<CoshFunction>);
REGISTER_CPU_OPERATOR(CoshGradient, CpuFunctionGradientOp<CoshFunction>);
REGISTER_CPU_OPERATOR(Log1p, CpuFunctionOp<Log1pFunction>);
REGISTER_CPU_OPERATOR(Log1pGradient, CpuFunctionGradientOp<Log1pFunction>);

OPERATOR_SCHEMA(Tan).FillUsing(ActivationSchema).SetDoc("Y = tan(X), X in radians.");
OPERATOR_SCHEMA(TanGradient).FillUsing(GradientOf).SetDoc("Of Tan: dX = dY / cos(X)^2.");
OPERATOR_SCHEMA(Asin)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = asin(X) in radians; NaN where |X| > 1.");
OPERATOR_SCHEMA(AsinGradient).FillUsing(GradientOf).SetDoc("Of Asin: dX = dY / sqrt(1 - X^2).");
OPERATOR_SCHEMA(Acos)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = acos(X) in radians; NaN where |X| > 1.");
OPERATOR_SCHEMA(AcosGradient).FillUsing(GradientOf).SetDoc("Of Acos: dX = -dY / sqrt(1 - X^2).");
OPERATOR_SCHEMA(Atan).FillUsing(ActivationSchema).SetDoc("Y = atan(X) in radians.");
OPERATOR_SCHEMA(AtanGradient).FillUsing(GradientOf).SetDoc("Of Atan: dX = dY / (1 + X^2).");
OPERATOR_SCHEMA(Sinh).FillUsing(ActivationSchema).SetDoc("Y = sinh(X), element by element.");
OPERATOR_SCHEMA(SinhGradient).FillUsing(GradientOf).SetDoc("Of Sinh: dX = dY * cosh(X).");
OPERATOR_SCHEMA(Cosh).FillUsing(ActivationSchema).SetDoc("Y = cosh(X), element by element.");
OPERATOR_SCHEMA(CoshGradient).FillUsing(GradientOf).SetDoc("Of Cosh: dX = dY * sinh(X).");
OPERATOR_SCHEMA(Log1p)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = log(1 + X), precise near 0; NaN where X < -1.");
OPERATOR_SCHEMA(Log1pGradient).FillUsing(GradientOf).SetDoc("Of Log1p: dX = dY / (1 + X).");
REGISTER_GRADIENT(Tan, GetActivationGradientOfInput);
REGISTER_GRADIENT(Asin, GetActivationGradientOfInput);
REGISTER_GRADIENT(Acos, GetActivationGradientOfInput);
REGISTER_GRADIENT(Atan, GetActivationGradientOfInput);
REGISTER_GRADIENT(Sinh, GetActivationGradientOfInput);
REGISTER_GRADIENT(Cosh, GetActivationGradientOfInput);
REGISTER_GRADIENT(Log1p, GetActivationGradientOfInput);

}  // namespace caffe2
