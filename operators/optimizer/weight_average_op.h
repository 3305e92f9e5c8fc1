// SWA (stochastic weight averaging, Izmailov et al., 2018) and EMA (exponential moving average) of
// a parameter over the iterations.
#pragma once

#include <limits>

#include "operators/common/host_device_op.h"
#include "operators/common/shape_input.h"
#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

constexpr int64_t kNoIteration = std::numeric_limits<int64_t>::max();

// The iterations start, start + step, ... up to and including end.
struct IterationRange {
  int64_t start, end, step;

  IterationRange(int64_t first, int64_t last, int64_t every)
      : start(first), end(last), step(every) {
    CAFFE_ENFORCE(step >= 1, "the iterations between two averages must be at least 1, found ",
                  step);
  }
  bool Has(int64_t iter) const {
    return iter >= start && iter <= end && (iter - start) % step == 0;
  }
};

// Shared by both: param, average, iteration -> param, average, in place.
template <class Context>
class WeightAverageOp : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;

  bool RunOnDevice() final {
    CheckOptimizerState(Input(0), Input(1), "the average");
    Update(ReadInteger(this->template Input<Tensor>(2), "the iteration counter"),
           Output(0)->numel(), UpdatedData<float>(Output(0)), UpdatedData<float>(Output(1)));
    return true;
  }

 protected:
  virtual void Update(int64_t iter, int64_t n, float* param, float* average) = 0;

  void Move(int64_t n, const float* param, float share, float* average) {
    MapElements(MoveTowards{share}, n, &context_, average, static_cast<const float*>(average),
                param);
  }
};

template <class Context>
class SwaOp final : public WeightAverageOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SwaOp(const OperatorDef& def, Workspace* ws)
      : WeightAverageOp<Context>(def, ws),
        averaged_(this->template GetSingleArgument<int64_t>("avg_start", 0),
                  this->template GetSingleArgument<int64_t>("avg_end", kNoIteration), 1),
        fed_back_(this->template GetSingleArgument<int64_t>("feedback_start", kNoIteration),
                  this->template GetSingleArgument<int64_t>("feedback_end", kNoIteration),
                  this->template GetSingleArgument<int64_t>("feedback_step", 1)) {}

 private:
  void Update(int64_t iter, int64_t n, float* param, float* average) override {
    if (averaged_.Has(iter)) {
      const auto count = static_cast<float>(iter - averaged_.start + 1);
      this->Move(n, param, 1 / count, average);
    }
    if (fed_back_.Has(iter)) context_.Copy(n, average, param);
  }

  IterationRange averaged_, fed_back_;
};

template <class Context>
class EmaOp final : public WeightAverageOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  EmaOp(const OperatorDef& def, Workspace* ws)
      : WeightAverageOp<Context>(def, ws),
        averaged_(this->template GetSingleArgument<int64_t>("ema_start", 0),
                  this->template GetSingleArgument<int64_t>("ema_end", kNoIteration),
                  this->template GetSingleArgument<int64_t>("ema_step", 1)),
        alpha_(this->template GetSingleArgument<float>("ema_alpha", 0.f)) {
    CAFFE_ENFORCE(alpha_ >= 0 && alpha_ <= 1, "argument ema_alpha must be from 0 to 1, found ",
                  alpha_);
  }

 private:
  void Update(int64_t iter, int64_t n, float* param, float* average) override {
    if (!averaged_.Has(iter)) return;
    this->Move(n, param, iter == averaged_.start ? 1.f : 1 - alpha_, average);
  }

  IterationRange averaged_;
  float alpha_;
};

}  // namespace caffe2
