// ThresholdedRelu: Y = X where X > alpha, else 0, with the gradient from Y.
#include "operators/activation_op.h"

namespace caffe2 {
namespace {

struct ThresholdedReluKernel {
  explicit ThresholdedReluKernel(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 1.f)) {}
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] <= alpha ? 0.f : x[i];  // NaN stays
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] > alpha ? dy[i] : 0.f;
  }
  float alpha;
};

}  // namespace

REGISTER_CPU_OPERATOR(ThresholdedRelu, CpuActivationOp<ThresholdedReluKernel>);
REGISTER_CPU_OPERATOR(ThresholdedReluGradient, CpuActivationGradientOp<ThresholdedReluKernel>);

OPERATOR_SCHEMA(ThresholdedRelu)
    .FillUsing(ActivationSchema)
    .SetDoc("Y = X where X > alpha, else 0 (Konda et al., ICLR 2015).")
    .Arg("alpha", "(float, default 1) The threshold.");
OPERATOR_SCHEMA(ThresholdedReluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of ThresholdedRelu: dX = dY where Y > alpha, else 0.")
    .Arg("alpha", "As in the forward operator.");
REGISTER_GRADIENT(ThresholdedRelu, GetActivationGradientOfOutput);

}  // namespace caffe2
