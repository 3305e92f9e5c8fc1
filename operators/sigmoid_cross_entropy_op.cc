#include "operators/sigmoid_cross_entropy_op.h"

#include <algorithm>
#include <cmath>

namespace caffe2 {
namespace {

// log(1 + e^x) without overflow.
double LogOnePlusExp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Loss(SigmoidLoss loss, double x, double t) {
  switch (loss) {
    case SigmoidLoss::kLogD:
      return (2 * t - 1) * LogOnePlusExp(-x);
    case SigmoidLoss::kUnjoined:
      return -t * x + (1 - t) * LogOnePlusExp(x);
    case SigmoidLoss::kCrossEntropy:
      break;
  }
  return LogOnePlusExp(x) - t * x;
}

// d Loss / d x
double LossGradient(SigmoidLoss loss, double x, double t) {
  switch (loss) {
    case SigmoidLoss::kLogD:
      return -(2 * t - 1) * Sigmoid(-x);
    case SigmoidLoss::kUnjoined:
      return -t + (1 - t) * Sigmoid(x);
    case SigmoidLoss::kCrossEntropy:
      break;
  }
  return Sigmoid(x) - t;
}

struct Rows {
  int64_t n = 0;
  int64_t d = 0;
};

Rows CheckRows(const Tensor& x, const Tensor& t) {
  CAFFE_ENFORCE(x.sizes() == t.sizes(), "logits ", ShapeString(x.sizes()), " and targets ",
                ShapeString(t.sizes()), " must have one shape");
  const int64_t d = x.dim() == 0 ? 1 : x.size(-1);
  return {d == 0 ? 0 : x.numel() / d, d};
}

std::vector<int64_t> LossDims(const std::vector<int64_t>& dims) {
  return {dims.begin(), dims.empty() ? dims.end() : dims.end() - 1};
}

}  // namespace

template <>
bool SigmoidCrossEntropyWithLogitsOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &t = Input(1);
  const Rows r = CheckRows(x, t);
  const float *x_data = x.data<float>(), *t_data = t.data<float>();
  Tensor* y = Output(0);
  y->Resize(LossDims(x.sizes()));
  float* y_data = y->mutable_data<float>();
  CAFFE_ENFORCE_EQ(y->numel(), r.n, "the last axis of ", ShapeString(x.sizes()), " is empty");
  for (int64_t i = 0; i < r.n; ++i) {
    double sum = 0;
    for (int64_t j = i * r.d; j < (i + 1) * r.d; ++j) sum += Loss(loss_, x_data[j], t_data[j]);
    y_data[i] = static_cast<float>(sum / static_cast<double>(r.d));
  }
  return true;
}

template <>
bool SigmoidCrossEntropyWithLogitsGradientOp<CPUContext>::RunOnDevice() {
  const Tensor &dy = Input(0), &x = Input(1), &t = Input(2);
  const Rows r = CheckRows(x, t);
  CAFFE_ENFORCE_EQ(dy.numel(), r.n, "gradient ", ShapeString(dy.sizes()), " for logits ",
                   ShapeString(x.sizes()));
  const float *dy_data = dy.data<float>(), *x_data = x.data<float>(), *t_data = t.data<float>();
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  float* dx_data = dx->mutable_data<float>();
  for (int64_t i = 0; i < r.n; ++i) {
    const double factor = dy_data[i] / static_cast<double>(r.d);
    for (int64_t j = i * r.d; j < (i + 1) * r.d; ++j) {
      dx_data[j] = static_cast<float>(factor * LossGradient(loss_, x_data[j], t_data[j]));
    }
  }
  return true;
}

REGISTER_CPU_OPERATOR(SigmoidCrossEntropyWithLogits, SigmoidCrossEntropyWithLogitsOp<CPUContext>);
REGISTER_CPU_OPERATOR(SigmoidCrossEntropyWithLogitsGradient,
                      SigmoidCrossEntropyWithLogitsGradientOp<CPUContext>);

namespace {

void Arguments(OpSchema& schema) {
  schema
      .Arg("log_D_trick",
           "(int, default 0) 1 takes the loss (1 - 2 t) log s(x) of a generator (Goodfellow et "
           "al., NIPS 2014).")
      .Arg("unjoined_lr_loss",
           "(int, default 0) 1 takes the loss -(t x + (1 - t) log(1 - s(x))), for data in which "
           "each positive example comes as a negative one too.");
}

}  // namespace

OPERATOR_SCHEMA(SigmoidCrossEntropyWithLogits)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(LossDims(GetDimsVector(in[0])), in[0].data_type())};
    })
    .FillUsing(Arguments)
    .SetDoc(
        "The binary cross entropy -(t log s(x) + (1 - t) log(1 - s(x))), with s the sigmoid, "
        "averaged over the last axis.")
    .Input(0, "logits", "A float tensor x.")
    .Input(1, "targets", "Float targets t in [0, 1], shaped like the logits.")
    .Output(0, "loss", "The logits' shape without the last axis.");
OPERATOR_SCHEMA(SigmoidCrossEntropyWithLogitsGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(Arguments)
    .SetDoc("The gradient of SigmoidCrossEntropyWithLogits with respect to the logits.")
    .Input(0, "d_loss", "The gradient of the loss.")
    .Input(1, "logits", "As in the forward operator.")
    .Input(2, "targets", "As in the forward operator.")
    .Output(0, "d_logits", "The gradient of the logits, shaped like them.");

class GetSigmoidCrossEntropyWithLogitsGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("SigmoidCrossEntropyWithLogitsGradient", "",
                             std::vector{GO(0), I(0), I(1)}, std::vector{GI(0)});
  }
};
REGISTER_GRADIENT(SigmoidCrossEntropyWithLogits, GetSigmoidCrossEntropyWithLogitsGradient);

}  // namespace caffe2
