// Logit: the inverse of the sigmoid, with the gradient from X.
#include <algorithm>
#include <cmath>

#include "operators/activation_op.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

struct LogitKernel {
  explicit LogitKernel(const OperatorBase& op) : eps(op.GetSingleArgument<float>("eps", 1e-6f)) {
    CAFFE_ENFORCE(eps > 0 && eps < 0.5f, "the argument eps must lie in (0, 0.5), not be ", eps);
  }
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) {
      const float p = std::clamp(x[i], eps, 1 - eps);
      y[i] = std::log(p / (1 - p));
    }
  }
  void Backward(int64_t n, const float* x, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) {
      const bool inside = x[i] >= eps && x[i] <= 1 - eps;
      dx[i] = inside ? dy[i] / (x[i] * (1 - x[i])) : 0.f;
    }
  }
  float eps;
};

}  // namespace

REGISTER_CPU_OPERATOR(Logit, CpuActivationOp<LogitKernel>);
REGISTER_CPU_OPERATOR(LogitGradient, CpuActivationGradientOp<LogitKernel>);

OPERATOR_SCHEMA(Logit)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = log(p / (1 - p)), where p is X moved into [eps, 1 - eps].")
    .Arg("eps", "(float in (0, 0.5), default 1e-6) The distance p keeps from 0 and 1.");
OPERATOR_SCHEMA(LogitGradient)
    .FillUsing(ActivationGradientSchemaOfInput)
    .SetDoc("The gradient of Logit: dX = dY / (X (1 - X)), 0 where X was moved.")
    .Arg("eps", "As in the forward operator.");
REGISTER_GRADIENT(Logit, GradientRule<"I0 GO0 -> GI0">);

}  // namespace caffe2
