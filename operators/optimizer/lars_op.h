// Lars (You et al., 2017): a factor of the learning rate for each layer, from the norms of its
// parameter and gradient. X, dX, [wd, trust, lr_max, [lr]] -> one float. All inputs after dX are
// float scalars.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// *sum = the sum of the squares of n elements.
template <class Context>
void SumOfSquares(int64_t n, const float* x, float* sum, Context* context);

template <class Context>
class LarsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LarsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        offset_(this->template GetSingleArgument<float>("offset", 0.5f)),
        lr_min_(this->template GetSingleArgument<float>("lr_min", 0.02f)) {}

  bool RunOnDevice() override {
    const Tensor &x = Input(X), &dx = Input(DX);
    CheckOptimizerState(x, dx, "gradient");
    Tensor sums(context_.device());
    sums.Resize(2);
    float* squares = sums.template mutable_data<float>();
    SumOfSquares(x.numel(), x.data<float>(), squares, &context_);
    SumOfSquares(dx.numel(), dx.data<float>(), squares + 1, &context_);
    LarsFactor factor{.offset = offset_, .lr_min = lr_min_, .has_trust = InputSize() > 2};
    if (factor.has_trust) {
      factor.decay = ScalarInput(WEIGHT_DECAY, "the weight decay");
      factor.trust = ScalarInput(TRUST, "the trust coefficient");
      factor.lr_max = ScalarInput(LR_MAX, "lr_max");
    }
    if (InputSize() > LR) factor.lr = ScalarInput(LR, "the learning rate");
    factor.squares = squares;
    factor.gradient_squares = squares + 1;
    Tensor* out = Output(0);
    out->Resize(1);
    factor.factor = out->template mutable_data<float>();
    ForEach(1, factor, &context_);
    return true;
  }

 private:
  enum { X, DX, WEIGHT_DECAY, TRUST, LR_MAX, LR };
  Rate ScalarInput(int i, const char* what) {
    return RateFor(this->template Input<Tensor>(i), what, &context_);
  }
  float offset_, lr_min_;
};

}  // namespace caffe2
