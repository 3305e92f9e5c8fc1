// Fixed powers: Reciprocal (X^-1), Rsqrt (X^-1/2), Cbrt (X^1/3) and Cube (X^3).
#include <cmath>

#include "operators/activation_op.h"

namespace caffe2 {
namespace {

struct ReciprocalKernel {
  explicit ReciprocalKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = 1 / x[i];
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = -dy[i] * y[i] * y[i];
  }
};

struct RsqrtKernel {
  explicit RsqrtKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = 1 / std::sqrt(x[i]);
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = -0.5f * dy[i] * y[i] * y[i] * y[i];
  }
};

struct CbrtKernel {
  explicit CbrtKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = std::cbrt(x[i]);
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] / (3 * y[i] * y[i]);
  }
};

struct CubeKernel {
  explicit CubeKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * x[i] * x[i];
  }
  void Backward(int64_t n, const float* x, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = 3 * dy[i] * x[i] * x[i];
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Reciprocal, CpuActivationOp<ReciprocalKernel>);
REGISTER_CPU_OPERATOR(ReciprocalGradient, CpuActivationGradientOp<ReciprocalKernel>);
REGISTER_CPU_OPERATOR(Rsqrt, CpuActivationOp<RsqrtKernel>);
REGISTER_CPU_OPERATOR(RsqrtGradient, CpuActivationGradientOp<RsqrtKernel>);
REGISTER_CPU_OPERATOR(Cbrt, CpuActivationOp<CbrtKernel>);
REGISTER_CPU_OPERATOR(CbrtGradient, CpuActivationGradientOp<CbrtKernel>);
REGISTER_CPU_OPERATOR(Cube, CpuActivationOp<CubeKernel>);
REGISTER_CPU_OPERATOR(CubeGradient, CpuActivationGradientOp<CubeKernel>);

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
