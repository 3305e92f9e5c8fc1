// Erf, and Gelu, the gate by the normal distribution: Y = X * P(N(0, 1) <= X).
#include <cmath>

#include "operators/activation_op.h"

namespace caffe2 {
namespace {

constexpr float kTwoOverRootPi = 1.1283791671f;

struct ErfKernel {
  explicit ErfKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = std::erf(x[i]);
  }
  void Backward(int64_t n, const float* x, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * kTwoOverRootPi * std::exp(-x[i] * x[i]);
  }
};

// The fast form takes P(N(0, 1) <= x) ~ (1 + tanh(u)) / 2 with u = a (x + b x^3).
struct GeluKernel {
  explicit GeluKernel(const OperatorBase& op)
      : fast(op.GetSingleArgument<bool>("fast_gelu", false)) {}

  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) {
      const float v = x[i];
      y[i] = 0.5f * v * (1 + (fast ? std::tanh(Inner(v)) : std::erf(v * kRootHalf)));
    }
  }
  void Backward(int64_t n, const float* x, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * Derivative(x[i]);
  }

 private:
  static constexpr float kRootHalf = 0.7071067812f;
  static constexpr float kA = 0.7978845608f;  // sqrt(2 / pi)
  static constexpr float kB = 0.044715f;

  static float Inner(float x) { return kA * (x + kB * x * x * x); }
  float Derivative(float x) const {
    if (!fast) {
      const float density = 0.5f * kA * std::exp(-0.5f * x * x);
      return 0.5f * (1 + std::erf(x * kRootHalf)) + x * density;
    }
    const float gate = std::tanh(Inner(x));
    return 0.5f * (1 + gate + x * (1 - gate * gate) * kA * (1 + 3 * kB * x * x));
  }

  bool fast;
};

}  // namespace

REGISTER_CPU_OPERATOR(Erf, CpuActivationOp<ErfKernel>);
REGISTER_CPU_OPERATOR(ErfGradient, CpuActivationGradientOp<ErfKernel>);
REGISTER_CPU_OPERATOR(Gelu, CpuActivationOp<GeluKernel>);
REGISTER_CPU_OPERATOR(GeluGradient, CpuActivationGradientOp<GeluKernel>);

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
