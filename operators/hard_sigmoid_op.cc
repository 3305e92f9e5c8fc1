// Clipped lines: HardSigmoid, max(0, min(1, alpha X + beta)), and ReluN, max(0, min(n, X)).
#include <algorithm>

#include "operators/activation_op.h"

namespace caffe2 {
namespace {

struct HardSigmoidKernel {
  explicit HardSigmoidKernel(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 0.2f)),
        beta(op.GetSingleArgument<float>("beta", 0.5f)) {}
  // Bounds come second: std::max and std::min keep a NaN that comes first.
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = std::max(std::min(alpha * x[i] + beta, 1.f), 0.f);
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 && y[i] < 1 ? dy[i] * alpha : 0;
  }
  float alpha, beta;
};

struct ReluNKernel {
  explicit ReluNKernel(const OperatorBase& op) : limit(op.GetSingleArgument<float>("n", 6.f)) {
    CAFFE_ENFORCE_GT(limit, 0, "the argument n leaves nothing");
  }
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = std::max(std::min(x[i], limit), 0.f);
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 && y[i] < limit ? dy[i] : 0;
  }
  float limit;
};

}  // namespace

REGISTER_CPU_OPERATOR(HardSigmoid, CpuActivationOp<HardSigmoidKernel>);
REGISTER_CPU_OPERATOR(HardSigmoidGradient, CpuActivationGradientOp<HardSigmoidKernel>);
REGISTER_CPU_OPERATOR(ReluN, CpuActivationOp<ReluNKernel>);
REGISTER_CPU_OPERATOR(ReluNGradient, CpuActivationGradientOp<ReluNKernel>);

OPERATOR_SCHEMA(HardSigmoid)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = max(0, min(1, alpha * X + beta)), element by element.")
    .Arg("alpha", "(float, default 0.2) The slope.")
    .Arg("beta", "(float, default 0.5) The value at 0.");
OPERATOR_SCHEMA(HardSigmoidGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of HardSigmoid: dX = alpha * dY where 0 < Y < 1, else 0.")
    .Arg("alpha", "As in the forward operator.");
OPERATOR_SCHEMA(ReluN)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = max(0, min(n, X)), element by element.")
    .Arg("n", "(float, default 6) The upper bound, above 0.");
OPERATOR_SCHEMA(ReluNGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of ReluN: dX = dY where 0 < Y < n, else 0.")
    .Arg("n", "As in the forward operator.");
REGISTER_GRADIENT(HardSigmoid, GetActivationGradientOfOutput);
REGISTER_GRADIENT(ReluN, GetActivationGradientOfOutput);

}  // namespace caffe2
