// Adagrad (Duchi et al., JMLR 2011): the sum of squared gradients gives each element a rate.
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, AdagradRule* rule) {
  rule->epsilon = op.GetSingleArgument<float>("epsilon", rule->epsilon);
  rule->decay = op.GetSingleArgument<float>("decay", rule->decay);
}

template <class Context>
class AdagradOp final : public DenseUpdateOp<Context, WithWeightDecay<AdagradRule>> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Rule = WithWeightDecay<AdagradRule>;
  AdagradOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, Rule>(def, ws,
                                     {.grad = 2,
                                      .param = 0,
                                      .states = 1,
                                      .lr = 3,
                                      .found_inf = 4,
                                      .param_out = 0,
                                      .states_out = 1,
                                      .step_out = UPDATE_OUT}) {}
  bool RunOnDevice() override {
    const Tensor& param = Input(this->layout_.param);
    const DenseUpdate<Rule> update = this->MakeUpdate(this->rule_);
    ForEach(param.numel(), update, &context_);
    float* rates = this->Like(param, RATE_OUT);
    if (rates == nullptr) return true;
    ForEach(param.numel(), AdagradRates{this->rule_, update.lr, update.state_out[0], rates},
            &context_);
    return true;
  }

 private:
  enum { RATE_OUT = 2, UPDATE_OUT };
};

}  // namespace caffe2
