// WeightedSigmoidCrossEntropyWithLogits: binary cross entropy with a weight for each element.
#include <cmath>

#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// The length of the last axis; throws unless all shapes agree and it is not empty.
int64_t CheckLastAxis(const Tensor& x, const Tensor& t, const Tensor& w) {
  CAFFE_ENFORCE(x.sizes() == t.sizes() && x.sizes() == w.sizes(), "logits ", ShapeString(x.sizes()),
                ", targets ", ShapeString(t.sizes()), " and weights ", ShapeString(w.sizes()),
                " must have one shape");
  const int64_t d = x.dim() == 0 ? 1 : x.size(-1);
  CAFFE_ENFORCE_GT(d, 0, "the last axis of ", ShapeString(x.sizes()), " is empty");
  return d;
}

std::vector<int64_t> WithoutLast(std::vector<int64_t> dims) {
  if (!dims.empty()) dims.pop_back();
  return dims;
}

template <class Context>
class WeightedSigmoidCrossEntropyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(WeightedSigmoidCrossEntropyOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &T = Input(1), &W = Input(2);
    const int64_t d = CheckLastAxis(X, T, W), n = X.numel() / d;
    const float *x = X.data<float>(), *t = T.data<float>(), *w = W.data<float>();
    Tensor* Y = Output(0);
    Y->Resize(WithoutLast(X.sizes()));
    float* y = Y->template mutable_data<float>();
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int64_t j = i * d; j < (i + 1) * d; ++j) {
        const double z = x[j];  // log(1 + e^z) - t z, with nothing that overflows
        sum += w[j] * (std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))) - t[j] * z);
      }
      y[i] = static_cast<float>(sum / static_cast<double>(d));
    }
    return true;
  }
};

// dX = dY w (s(X) - t) / D
template <class Context>
class WeightedSigmoidCrossEntropyGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(WeightedSigmoidCrossEntropyGradientOp);
  bool RunOnDevice() override {
    const Tensor &dY = Input(0), &X = Input(1), &T = Input(2), &W = Input(3);
    const int64_t d = CheckLastAxis(X, T, W), n = X.numel() / d;
    CAFFE_ENFORCE_EQ(dY.numel(), n, "gradient ", ShapeString(dY.sizes()), " for logits ",
                     ShapeString(X.sizes()));
    const float *dy = dY.data<float>(), *x = X.data<float>(), *t = T.data<float>(),
                *w = W.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->template mutable_data<float>();
    for (int64_t j = 0; j < X.numel(); ++j) {
      dx[j] = dy[j / d] / d * w[j] * (1 / (1 + std::exp(-x[j])) - t[j]);
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(WeightedSigmoidCrossEntropyWithLogits,
                      WeightedSigmoidCrossEntropyOp<CPUContext>);
REGISTER_CPU_OPERATOR(WeightedSigmoidCrossEntropyWithLogitsGradient,
                      WeightedSigmoidCrossEntropyGradientOp<CPUContext>);

OPERATOR_SCHEMA(WeightedSigmoidCrossEntropyWithLogits)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(WithoutLast(GetDimsVector(in[0])), in[0].data_type())};
    })
    .SetDoc(
        "-w (t log s(x) + (1 - t) log(1 - s(x))), with s the sigmoid, averaged over the last "
        "axis (divided by its length, not by the weights).")
    .Input(0, "logits", "A float tensor x.")
    .Input(1, "targets", "Float targets t in [0, 1], shaped like the logits.")
    .Input(2, "weights", "Float weights w, shaped like the logits.")
    .Output(0, "loss", "The logits' shape without the last axis.");
OPERATOR_SCHEMA(WeightedSigmoidCrossEntropyWithLogitsGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of WeightedSigmoidCrossEntropyWithLogits for the logits.")
    .Input(0, "d_loss", "The gradient of the loss.")
    .Input(1, "logits", "As in the forward operator.")
    .Input(2, "targets", "As in the forward operator.")
    .Input(3, "weights", "As in the forward operator.")
    .Output(0, "d_logits", "The gradient of the logits, shaped like them.");
REGISTER_GRADIENT(WeightedSigmoidCrossEntropyWithLogits, GradientRule<"GO0 I* -> GI0">);

}  // namespace caffe2
