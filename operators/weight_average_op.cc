// SWA and EMA: averages of a parameter over the iterations.
#include <algorithm>
#include <limits>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A range of iterations, both ends included, of which every step-th one counts.
struct IterationRange {
  int64_t start, end, step;

  IterationRange(int64_t first, int64_t last, int64_t every)
      : start(first), end(last), step(every) {
    CAFFE_ENFORCE_GE(step, 1, "iterations between two averages");
  }
  bool Has(int64_t iter) const {
    return iter >= start && iter <= end && (iter - start) % step == 0;
  }
};

// What both have in common: inputs and outputs (param, average), the iteration.
class WeightAverageOp : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

  bool RunOnDevice() final {
    CheckOptimizerState(Input(0), Input(1), "the average");
    CAFFE_ENFORCE_EQ(Input(2).numel(), 1, "the iteration counter has one element");
    Update(*Input(2).data<int64_t>(), Output(0)->numel(), Output(0)->mutable_data<float>(),
           Output(1)->mutable_data<float>());
    return true;
  }

 protected:
  virtual void Update(int64_t iter, int64_t n, float* param, float* average) const = 0;

  static void MoveTowards(int64_t n, const float* param, float share, float* average) {
    for (int64_t i = 0; i < n; ++i) average[i] += share * (param[i] - average[i]);
  }
};

class SwaOp final : public WeightAverageOp {
 public:
  SwaOp(const OperatorDef& def, Workspace* ws)
      : WeightAverageOp(def, ws),
        averaged_(GetSingleArgument<int64_t>("avg_start", 0),
                  GetSingleArgument<int64_t>("avg_end", kNever), 1),
        fed_back_(GetSingleArgument<int64_t>("feedback_start", kNever),
                  GetSingleArgument<int64_t>("feedback_end", kNever),
                  GetSingleArgument<int64_t>("feedback_step", 1)) {}

 private:
  void Update(int64_t iter, int64_t n, float* param, float* average) const override {
    if (averaged_.Has(iter)) {
      const auto count = static_cast<float>(iter - averaged_.start + 1);
      MoveTowards(n, param, 1 / count, average);
    }
    if (fed_back_.Has(iter)) std::copy_n(average, n, param);
  }

  IterationRange averaged_, fed_back_;
};

class EmaOp final : public WeightAverageOp {
 public:
  EmaOp(const OperatorDef& def, Workspace* ws)
      : WeightAverageOp(def, ws),
        averaged_(GetSingleArgument<int64_t>("ema_start", 0),
                  GetSingleArgument<int64_t>("ema_end", kNever),
                  GetSingleArgument<int64_t>("ema_step", 1)),
        alpha_(GetSingleArgument<float>("ema_alpha", 0.f)) {
    CAFFE_ENFORCE(alpha_ >= 0 && alpha_ <= 1, "ema_alpha, a share, is ", alpha_);
  }

 private:
  void Update(int64_t iter, int64_t n, float* param, float* average) const override {
    if (!averaged_.Has(iter)) return;
    MoveTowards(n, param, iter == averaged_.start ? 1.f : 1 - alpha_, average);
  }

  IterationRange averaged_;
  float alpha_;
};

void Describe(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(2)
      .EnforceInplace({{0, 0}, {1, 1}})
      .InputsCanCrossDevices()
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Input(0, "param", "The float parameter.")
      .Input(1, "average", "Its average, of the same shape; updated.")
      .Input(2, "iter", "The iteration, int64 of one element, on the host.")
      .Output(0, "output_param", "The parameter, in place.")
      .Output(1, "output_average", "The average, in place.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SWA, SwaOp);
REGISTER_CPU_OPERATOR(EMA, EmaOp);

OPERATOR_SCHEMA(SWA)
    .FillUsing(Describe)
    .SetDoc(
        "Stochastic weight averaging (Izmailov et al., 2018): the mean of a parameter over the "
        "iterations avg_start to avg_end. From feedback_start to feedback_end, every "
        "feedback_step iterations, the parameter goes on from its mean.")
    .Arg("avg_start", "(int, default 0) The first iteration of the mean.")
    .Arg("avg_end", "(int, default: no end) The last one.")
    .Arg("feedback_start", "(int, default: never) The first iteration that sets the parameter.")
    .Arg("feedback_step", "(int > 0, default 1) Iterations from one to the next.")
    .Arg("feedback_end", "(int, default: no end) The last one that may.");
OPERATOR_SCHEMA(EMA)
    .FillUsing(Describe)
    .SetDoc(
        "The exponential moving average of a parameter, which is not changed: average = ema_alpha "
        "* average + (1 - ema_alpha) * param every ema_step iterations from ema_start to ema_end; "
        "at ema_start the average becomes the parameter.")
    .Arg("ema_start", "(int, default 0) The first iteration.")
    .Arg("ema_end", "(int, default: no end) The last one.")
    .Arg("ema_step", "(int > 0, default 1) Iterations from one to the next.")
    .Arg("ema_alpha", "(float in [0, 1], default 0) The share of the average that is kept.");
NO_GRADIENT(SWA);
NO_GRADIENT(EMA);

}  // namespace caffe2
