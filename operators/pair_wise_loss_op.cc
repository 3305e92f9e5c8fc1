// PairWiseLoss: how often, and how clearly, scores order pairs otherwise than their labels do.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

// The lists of scores; without lengths all are one. Throws unless there is a label for each score.
Segments ReadLists(const Tensor& X, const Tensor& label, const Tensor* lengths) {
  CAFFE_ENFORCE((X.dim() == 1 || (X.dim() == 2 && X.size(1) == 1)) && label.numel() == X.numel(),
                "scores ", ShapeString(X.sizes()), " and labels ", ShapeString(label.sizes()),
                " must be lists of one length");
  if (lengths != nullptr) return Segments::FromLengths(*lengths, X.numel());
  return Segments::FromLengths(Tensor({1}, std::vector<int64_t>{X.numel()}));
}

// Calls body(better, worse) for all pairs in [first, first + n) of different labels. Returns how
// many there are.
template <typename Body>
int64_t ForEachPair(const float* label, int64_t first, int64_t n, const Body& body) {
  int64_t pairs = 0;
  for (int64_t i = first; i < first + n; ++i) {
    for (int64_t j = first; j < i; ++j) {
      if (label[i] == label[j]) continue;
      ++pairs;
      label[i] > label[j] ? body(i, j) : body(j, i);
    }
  }
  return pairs;
}

// log(1 + e^x), without overflow.
double LogistLoss(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

class PairWiseLossOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1);
    const Segments lists = ReadLists(X, labels, InputSize() > 2 ? &Input(2) : nullptr);
    const float *x = X.data<float>(), *label = labels.data<float>();
    Output(0)->Resize(lists.count());
    float* loss = Output(0)->mutable_data<float>();
    for (int64_t s = 0; s < lists.count(); ++s) {
      double sum = 0;
      const int64_t pairs = ForEachPair(
          label, lists.entry(s, 0), lists.length(s),
          [&](int64_t better, int64_t worse) { sum += LogistLoss(double{x[worse]} - x[better]); });
      loss[s] = pairs == 0 ? 0.f : static_cast<float>(sum / static_cast<double>(pairs));
    }
    return true;
  }
};

class PairWiseLossGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1), &d_loss = Input(2);
    const Segments lists = ReadLists(X, labels, InputSize() > 3 ? &Input(3) : nullptr);
    CAFFE_ENFORCE_EQ(d_loss.numel(), lists.count(), "gradients, one for each list");
    const float *x = X.data<float>(), *label = labels.data<float>(), *g = d_loss.data<float>();
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    for (int64_t s = 0; s < lists.count(); ++s) {
      const int64_t first = lists.entry(s, 0), n = lists.length(s);
      std::vector<double> sums(n, 0);
      const int64_t pairs = ForEachPair(label, first, n, [&](int64_t better, int64_t worse) {
        const double slope = 1 / (1 + std::exp(double{x[better]} - x[worse]));
        sums[better - first] -= slope;
        sums[worse - first] += slope;
      });
      const double share = pairs == 0 ? 0 : g[s] / static_cast<double>(pairs);
      for (int64_t i = 0; i < n; ++i) dx[first + i] = static_cast<float>(share * sums[i]);
    }
    return true;
  }
};

class GetPairWiseLossGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{I(0), I(1), GO(0)};
    if (Def().input_size() > 2) inputs.push_back(I(2));
    return SingleGradientDef("PairWiseLossGradient", "", inputs, std::vector{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(PairWiseLoss, PairWiseLossOp);
REGISTER_CPU_OPERATOR(PairWiseLossGradient, PairWiseLossGradientOp);
OPERATOR_SCHEMA(PairWiseLoss)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in.size() < 3)
        return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::FLOAT)};
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[2]), TensorProto::FLOAT)};
    })
    .SetDoc(
        "For each list, the average of log(1 + e^(X[worse] - X[better])) over all pairs of "
        "different labels, of which the higher is better; 0 if there are none.")
    .Input(0, "X", "Float scores, one-dimensional or n x 1.")
    .Input(1, "label", "A float label for each score.")
    .Input(2, "lengths", "Optional int32 or int64: the lengths of the lists. Default: one list.")
    .Output(0, "output", "Float: the loss of each list.");
OPERATOR_SCHEMA(PairWiseLossGradient)
    .NumInputs(3, 4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of PairWiseLoss for the scores.")
    .Input(0, "X", "As in the forward operator.")
    .Input(1, "label", "As in the forward operator.")
    .Input(2, "dY", "The gradient of the losses.")
    .Input(3, "lengths", "As in the forward operator.")
    .Output(0, "dX", "The gradient of the scores.");
REGISTER_GRADIENT(PairWiseLoss, GetPairWiseLossGradient);

}  // namespace caffe2
