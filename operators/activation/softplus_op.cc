// Softplus: Y = log(1 + e^X), with the gradient from Y.
#include <cmath>

#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

struct SoftplusKernel {
  explicit SoftplusKernel(const OperatorBase&) {}
  // max(x, 0) is taken out, so that nothing overflows.
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) {
      const float tail = std::log1p(std::exp(-std::fabs(x[i])));
      y[i] = x[i] > 0 ? x[i] + tail : tail;
    }
  }
  // 1 - e^-y without the loss of digits near 0.
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = -dy[i] * std::expm1(-y[i]);
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Softplus, CpuActivationOp<SoftplusKernel>);
REGISTER_CPU_OPERATOR(SoftplusGradient, CpuActivationGradientOp<SoftplusKernel>);

OPERATOR_SCHEMA(Softplus)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = log(1 + exp(X)), element by element.");
OPERATOR_SCHEMA(SoftplusGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of Softplus: dX = dY * (1 - exp(-Y)).");
REGISTER_GRADIENT(Softplus, GetActivationGradientOfOutput);

}  // namespace caffe2
