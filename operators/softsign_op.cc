// Softsign: Y = X / (1 + |X|), with the gradient from X.
#include <cmath>

#include "operators/activation_op.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

struct SoftsignKernel {
  explicit SoftsignKernel(const OperatorBase&) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1 + std::fabs(x[i]));
  }
  void Backward(int64_t n, const float* x, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) {
      const float divisor = 1 + std::fabs(x[i]);
      dx[i] = dy[i] / (divisor * divisor);
    }
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Softsign, CpuActivationOp<SoftsignKernel>);
REGISTER_CPU_OPERATOR(SoftsignGradient, CpuActivationGradientOp<SoftsignKernel>);

OPERATOR_SCHEMA(Softsign)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = X / (1 + |X|), element by element: between -1 and 1.");
OPERATOR_SCHEMA(SoftsignGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Softsign: dX = dY / (1 + |X|)^2.");
REGISTER_GRADIENT(Softsign, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
