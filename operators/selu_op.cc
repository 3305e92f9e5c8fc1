// Selu: a scaled Elu that keeps mean and variance, with the gradient from Y.
#include <cmath>

#include "operators/activation_op.h"

namespace caffe2 {
namespace {

struct SeluKernel {
  explicit SeluKernel(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 1.6732632423543772f)),
        scale(op.GetSingleArgument<float>("scale", 1.0507009873554805f)) {
    CAFFE_ENFORCE_GT(scale, 1, "the argument scale");
  }
  void Forward(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) {
      y[i] = scale * (x[i] > 0 ? x[i] : alpha * std::expm1(x[i]));
    }
  }
  void Backward(int64_t n, const float* y, const float* dy, float* dx) const {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * (y[i] > 0 ? scale : y[i] + scale * alpha);
  }
  float alpha, scale;
};

void Arguments(OpSchema& schema) {
  schema.Arg("alpha", "(float, default 1.6733) The limit for large negative X is -scale * alpha.")
      .Arg("scale", "(float > 1, default 1.0507) The slope for positive X.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Selu, CpuActivationOp<SeluKernel>);
REGISTER_CPU_OPERATOR(SeluGradient, CpuActivationGradientOp<SeluKernel>);

OPERATOR_SCHEMA(Selu)
    .FillUsing(ActivationSchema)
    .FillUsing(Arguments)
    .SetDoc(
        "The scaled exponential linear unit (Klambauer et al., NIPS 2017): Y = scale * X where X "
        "> 0, else scale * alpha * (exp(X) - 1).");
OPERATOR_SCHEMA(SeluGradient)
    .FillUsing(ActivationGradientSchemaOfOutput)
    .FillUsing(Arguments)
    .SetDoc("The gradient of Selu: dX = dY * scale where Y > 0, else dY * (Y + scale * alpha).");
REGISTER_GRADIENT(Selu, GetActivationGradientOfOutput);

}  // namespace caffe2
