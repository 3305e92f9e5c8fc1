// BernoulliJSD: the Jensen-Shannon divergence of two probabilities.
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

constexpr double kSmallest = 1e-20;  // a logarithm is taken of at least this

double Log(double x) { return std::log(std::max(x, kSmallest)); }
double Entropy(double p) { return -p * Log(p) - (1 - p) * Log(1 - p); }

void CheckPair(const Tensor& X, const Tensor& T) {
  CAFFE_ENFORCE_EQ(T.numel(), X.numel(), "probabilities ", ShapeString(T.sizes()), " for ",
                   ShapeString(X.sizes()));
}

class BernoulliJSDOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &T = Input(1);
    CheckPair(X, T);
    const float *x = X.data<float>(), *t = T.data<float>();
    Output(0)->ResizeLike(X);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      const double p = x[i], q = t[i];
      y[i] = static_cast<float>(Entropy((p + q) / 2) - (Entropy(p) + Entropy(q)) / 2);
    }
    return true;
  }
};

// dX = log(p (1 - m) / (m (1 - p))) / 2 * dY, with m = (p + q) / 2
class BernoulliJSDGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &dY = Input(0), &X = Input(1), &T = Input(2);
    CheckPair(X, T);
    CheckPair(X, dY);
    const float *dy = dY.data<float>(), *x = X.data<float>(), *t = T.data<float>();
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      const double p = x[i], m = (p + t[i]) / 2;
      const double slope = (Log(p) - Log(1 - p) - Log(m) + Log(1 - m)) / 2;
      dx[i] = static_cast<float>(dy[i] * slope);
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(BernoulliJSD, BernoulliJSDOp);
REGISTER_CPU_OPERATOR(BernoulliJSDGradient, BernoulliJSDGradientOp);
OPERATOR_SCHEMA(BernoulliJSD)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The Jensen-Shannon divergence of Bernoulli distributions, element by element: H((X + T) / "
        "2) - (H(X) + H(T)) / 2, with the entropy H in nats.")
    .Input(0, "X", "Float probabilities.")
    .Input(1, "T", "Float: as many others.")
    .Output(0, "L", "The divergences, shaped like X.");
OPERATOR_SCHEMA(BernoulliJSDGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of BernoulliJSD for X; T gets none.")
    .Input(0, "dL", "The gradient of the divergences.")
    .Input(1, "X", "As in the forward operator.")
    .Input(2, "T", "As in the forward operator.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(BernoulliJSD, GradientRule<"GO0 I0 I1 -> GI0">);

}  // namespace caffe2
