// Tan, Asin, Acos, Atan, Sinh, Cosh and Log1p, with gradients from X.
#include <cmath>

#include "operators/activation_op.h"

namespace caffe2 {
namespace {

// F: float Value(float x) and float Slope(float x), the derivative there.
template <class F>
struct FunctionKernel {
  explicit FunctionKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = F::Value(x[i]);
  }
  void Backward(int64_t n, const float* x, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * F::Slope(x[i]);
  }
};

struct TanFunction {
  static float Value(float x) { return std::tan(x); }
  static float Slope(float x) { return 1 / (std::cos(x) * std::cos(x)); }
};
struct AsinFunction {
  static float Value(float x) { return std::asin(x); }
  static float Slope(float x) { return 1 / std::sqrt(1 - x * x); }
};
struct AcosFunction {
  static float Value(float x) { return std::acos(x); }
  static float Slope(float x) { return -1 / std::sqrt(1 - x * x); }
};
struct AtanFunction {
  static float Value(float x) { return std::atan(x); }
  static float Slope(float x) { return 1 / (1 + x * x); }
};
struct SinhFunction {
  static float Value(float x) { return std::sinh(x); }
  static float Slope(float x) { return std::cosh(x); }
};
struct CoshFunction {
  static float Value(float x) { return std::cosh(x); }
  static float Slope(float x) { return std::sinh(x); }
};
struct Log1pFunction {
  static float Value(float x) { return std::log1p(x); }
  static float Slope(float x) { return 1 / (1 + x); }
};

void GradientOf(OpSchema& schema) { schema.FillUsing(ActivationGradientSchemaOfInput); }

}  // namespace

REGISTER_CPU_OPERATOR(Tan, CpuActivationOp<FunctionKernel<TanFunction>>);
REGISTER_CPU_OPERATOR(TanGradient, CpuActivationGradientOp<FunctionKernel<TanFunction>>);
REGISTER_CPU_OPERATOR(Asin, CpuActivationOp<FunctionKernel<AsinFunction>>);
REGISTER_CPU_OPERATOR(AsinGradient, CpuActivationGradientOp<FunctionKernel<AsinFunction>>);
REGISTER_CPU_OPERATOR(Acos, CpuActivationOp<FunctionKernel<AcosFunction>>);
REGISTER_CPU_OPERATOR(AcosGradient, CpuActivationGradientOp<FunctionKernel<AcosFunction>>);
REGISTER_CPU_OPERATOR(Atan, CpuActivationOp<FunctionKernel<AtanFunction>>);
REGISTER_CPU_OPERATOR(AtanGradient, CpuActivationGradientOp<FunctionKernel<AtanFunction>>);
REGISTER_CPU_OPERATOR(Sinh, CpuActivationOp<FunctionKernel<SinhFunction>>);
REGISTER_CPU_OPERATOR(SinhGradient, CpuActivationGradientOp<FunctionKernel<SinhFunction>>);
REGISTER_CPU_OPERATOR(Cosh, CpuActivationOp<FunctionKernel<CoshFunction>>);
REGISTER_CPU_OPERATOR(CoshGradient, CpuActivationGradientOp<FunctionKernel<CoshFunction>>);
REGISTER_CPU_OPERATOR(Log1p, CpuActivationOp<FunctionKernel<Log1pFunction>>);
REGISTER_CPU_OPERATOR(Log1pGradient, CpuActivationGradientOp<FunctionKernel<Log1pFunction>>);

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
