// LeakyRelu: Y = X where X > 0, else alpha X, with the gradient from Y.
#include "caffe2/utils/simd.h"
#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

// Both values are computed before one is chosen: compilers vectorise no branch around a
// multiplication, as it may trap.
struct LeakyReluKernel {
  explicit LeakyReluKernel(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 0.01f)) {}
  CAFFE2_SIMD_CLONES void Forward(int64_t n, const float* x, float* y) const {
    const float slope = alpha;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = slope * x[i];
      y[i] = x[i] > 0 ? x[i] : scaled;
    }
  }
  CAFFE2_SIMD_CLONES void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    const float slope = alpha;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = slope * dy[i];
      dx[i] = y[i] > 0 ? dy[i] : scaled;
    }
  }
  float alpha;
};

}  // namespace

REGISTER_CPU_OPERATOR(LeakyRelu, CpuActivationOp<LeakyReluKernel>);
REGISTER_CPU_OPERATOR(LeakyReluGradient, CpuActivationGradientOp<LeakyReluKernel>);

OPERATOR_SCHEMA(LeakyRelu)
    .FillUsing(ActivationSchema)
    .SetDoc(
        "The leaky rectifier: Y = X where X > 0, else alpha * X. The gradient needs alpha >= 0.")
    .Arg("alpha", "(float, default 0.01) The slope for negative X.");
OPERATOR_SCHEMA(LeakyReluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .SetDoc("The gradient of LeakyRelu: dX = dY where Y > 0, else alpha * dY.")
    .Arg("alpha", "As in the forward operator.");
REGISTER_GRADIENT(LeakyRelu, GetActivationGradientOfOutput);

}  // namespace caffe2
