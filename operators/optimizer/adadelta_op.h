// Adadelta: steps in the units of the parameter (Zeiler, 2012).
#pragma once

#include "operators/common/portable_op.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

template <class Context>
class AdadeltaOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdadeltaOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)),
        decay_(this->template GetSingleArgument<float>("decay", 0.95f)) {}

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &delta = Input(DELTA);
    const Tensor& grad = Input(GRAD);
    CheckOptimizerState(param, moment, "moment");
    CheckOptimizerState(param, delta, "moment_delta");
    CheckOptimizerState(param, grad, "gradient");
    AdadeltaElements update{.epsilon = epsilon_, .decay = decay_};
    update.lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    update.p = param.data<float>();
    update.h = moment.data<float>();
    update.d = delta.data<float>();
    update.g = grad.data<float>();
    for (int i = 0; i < 3; ++i) Output(i)->ResizeLike(param);
    update.p_out = Output(PARAM)->template mutable_data<float>();
    update.h_out = Output(MOMENT)->template mutable_data<float>();
    update.d_out = Output(DELTA)->template mutable_data<float>();
    ForEach(param.numel(), update, &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT, DELTA, GRAD, LR };
  float epsilon_, decay_;
};

}  // namespace caffe2
