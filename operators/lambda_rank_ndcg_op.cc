// LambdaRankNdcg: a loss of ranked lists (Wu et al., "Adapting boosting for information retrieval
// measures", 2010).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

constexpr double kLeastDcg = 1e-5;        // an ideal gain below counts as this
constexpr double kLeastRelevance = 1e-6;  // lists of less relevance have no loss

Segments ReadSessions(const Tensor& y, const Tensor* lengths) {
  CAFFE_ENFORCE_EQ(y.dim(), 1, "y ", ShapeString(y.sizes()), " must be one-dimensional");
  if (lengths != nullptr) return Segments::FromLengths(*lengths, y.numel());
  return Segments::FromLengths(Tensor({1}, std::vector<int64_t>{y.numel()}));
}

// 1 / log2(rank + 1) of each element by descending value, for ranks from 1.
std::vector<double> Discounts(int64_t n, const float* values) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [values](int64_t a, int64_t b) { return values[a] > values[b]; });
  std::vector<double> discounts(n);
  for (int64_t rank = 0; rank < n; ++rank) {
    discounts[order[rank]] = 1 / std::log2(static_cast<double>(rank) + 2);
  }
  return discounts;
}

class LambdaRankNdcgOp final : public Operator<CPUContext> {
 public:
  LambdaRankNdcgOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        ndcg_loss_(GetSingleArgument<bool>("use_ndcg_as_loss", false)),
        normalize_(GetSingleArgument<bool>("use_idcg_normalization", true)),
        exponential_(GetSingleArgument<bool>("use_exp_gain", true)) {}

  bool RunOnDevice() override {
    const Tensor &Y = Input(0), &R = Input(1);
    CAFFE_ENFORCE_EQ(R.numel(), Y.numel(), "relevances, one for each score");
    const Segments sessions = ReadSessions(Y, InputSize() > 2 ? &Input(2) : nullptr);
    const float *y = Y.data<float>(), *r = R.data<float>();
    for (int64_t i = 0; i < Y.numel(); ++i) {
      CAFFE_ENFORCE(std::isfinite(y[i]) && std::isfinite(r[i]), "score ", i, " is ", y[i],
                    ", its relevance ", r[i]);
    }
    Output(0)->Resize(sessions.count());
    Output(1)->ResizeLike(Y);
    float *loss = Output(0)->mutable_data<float>(), *dy = Output(1)->mutable_data<float>();
    for (int64_t s = 0; s < sessions.count(); ++s) {
      const int64_t first = sessions.entry(s, 0);
      loss[s] = Rank(sessions.length(s), y + first, r + first, dy + first);
    }
    return true;
  }

 private:
  // The loss of one list of n; writes its gradient.
  float Rank(int64_t n, const float* y, const float* r, float* dy) const {
    std::fill_n(dy, n, 0.f);
    const double relevance = std::accumulate(
        r, r + n, 0.0, [](double sum, float value) { return sum + std::fabs(value); });
    if (relevance < kLeastRelevance) return 0;
    std::vector<double> gain(n);
    for (int64_t i = 0; i < n; ++i) {
      gain[i] = ndcg_loss_ && !exponential_ ? r[i] : std::exp2(double{r[i]});
    }
    const std::vector<double> ideal = Discounts(n, r), discount = Discounts(n, y);
    const double ideal_gain = std::inner_product(gain.begin(), gain.end(), ideal.begin(), 0.0);
    const double scale = normalize_ ? 1 / std::max(ideal_gain, kLeastDcg) : 1;
    double pairs_loss = 0;
    for (int64_t i = 0; i < n; ++i) {
      double slope = 0;
      for (int64_t j = 0; j < n; ++j) {
        const double weight = std::fabs((gain[i] - gain[j]) * (discount[i] - discount[j]));
        const double sign = r[i] > r[j] ? 1 : -1, margin = sign * (double{y[i]} - y[j]);
        slope -= weight * sign / (1 + std::exp(margin));
        // -log of the sigmoid of the margin
        pairs_loss += weight * (std::max(-margin, 0.0) + std::log1p(std::exp(-std::fabs(margin))));
      }
      dy[i] = static_cast<float>(slope * scale);
    }
    const double lost =
        ideal_gain - std::inner_product(gain.begin(), gain.end(), discount.begin(), 0.0);
    return static_cast<float>((ndcg_loss_ ? lost : pairs_loss) * scale);
  }

  bool ndcg_loss_, normalize_, exponential_;
};

class LambdaRankNdcgGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const int lengths = InputSize() > 3 ? 1 : -1, after = InputSize() - 2;
    const Tensor &Y = Input(0), &cached = Input(after), &d_loss = Input(after + 1);
    const Segments sessions = ReadSessions(Y, lengths < 0 ? nullptr : &Input(lengths));
    CAFFE_ENFORCE(cached.numel() == Y.numel() && d_loss.numel() == sessions.count(), "gradients ",
                  ShapeString(cached.sizes()), " and ", ShapeString(d_loss.sizes()), " for ",
                  sessions.count(), " lists of ", Y.numel(), " scores");
    const float *slope = cached.data<float>(), *g = d_loss.data<float>();
    Output(0)->ResizeLike(cached);
    float* dy = Output(0)->mutable_data<float>();
    for (int64_t s = 0; s < sessions.count(); ++s) {
      for (int64_t k = 0; k < sessions.length(s); ++k) *dy++ = g[s] * *slope++;
    }
    return true;
  }
};

class GetLambdaRankNdcgGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{I(0)};
    if (Def().input_size() > 2) inputs.push_back(I(2));
    inputs.push_back(O(1));
    inputs.push_back(GO(0));
    return SingleGradientDef("LambdaRankNdcgGradient", "", inputs, std::vector{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(LambdaRankNdcg, LambdaRankNdcgOp);
REGISTER_CPU_OPERATOR(LambdaRankNdcgGradient, LambdaRankNdcgGradientOp);
OPERATOR_SCHEMA(LambdaRankNdcg)
    .NumInputs(2, 3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      const std::vector<int64_t> lists =
          in.size() > 2 ? GetDimsVector(in[2]) : std::vector<int64_t>{1};
      return std::vector<TensorShape>{CreateTensorShape(lists, TensorProto::FLOAT), in[0]};
    })
    .SetDoc(
        "LambdaRank (Wu et al., 2010): for each list the sum over pairs of |gain and discount "
        "that swapping them changes| * log(1 + e^-(margin of the more relevant one)), divided by "
        "the ideal gain. As in Caffe2 the loss counts every pair twice, but the gradient once.")
    .Arg("use_ndcg_as_loss",
         "(bool, default 0) 1: the loss is the gain that is lost; the gradient is the same.")
    .Arg("use_idcg_normalization", "(bool, default 1) Divides by the ideal gain.")
    .Arg("use_exp_gain",
         "(bool, default 1) With use_ndcg_as_loss, 0: the gain is the relevance; else 2^relevance.")
    .Input(0, "y", "Float scores, one-dimensional.")
    .Input(1, "r", "Their relevances, float.")
    .Input(2, "session_lengths",
           "Optional int32 or int64: lengths of the lists. Default: one list.")
    .Output(0, "loss", "Float: the loss of each list.")
    .Output(1, "dy", "Its gradient for the scores.");
OPERATOR_SCHEMA(LambdaRankNdcgGradient)
    .NumInputs(3, 4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of LambdaRankNdcg. Without lengths, the inputs behind them move up.")
    .Input(0, "y", "As in the forward operator.")
    .Input(1, "session_lengths", "As in the forward operator.")
    .Input(2, "dy_cache", "The second output of the forward operator.")
    .Input(3, "dloss", "The gradient of the losses.")
    .Output(0, "dy", "The gradient of the scores.");
REGISTER_GRADIENT(LambdaRankNdcg, GetLambdaRankNdcgGradient);

}  // namespace caffe2
