// Adam: gradient descent with adaptive moments (Kingma & Ba, ICLR 2015).
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, AdamRule* rule) {
  rule->beta1 = op.GetSingleArgument<float>("beta1", rule->beta1);
  rule->beta2 = op.GetSingleArgument<float>("beta2", rule->beta2);
  rule->epsilon = op.GetSingleArgument<float>("epsilon", rule->epsilon);
  rule->decoupled_weight_decay =
      op.GetSingleArgument<bool>("decoupled_weight_decay", rule->decoupled_weight_decay);
}

template <class Context>
class AdamOp final : public UpdateOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdamOp(const OperatorDef& def, Workspace* ws)
      : UpdateOp<Context>(def, ws,
                          {.grad = 3,
                           .param = 0,
                           .states = 1,
                           .lr = 4,
                           .iter = 5,
                           .found_inf = 6,
                           .param_out = 0,
                           .states_out = 1,
                           .step_out = 3}),
        rule_(ReadRule<WithWeightDecay<AdamRule>>(*this)) {}

  bool RunOnDevice() override {
    const int64_t n = Input(this->layout_.grad).numel();
    if (rule_.weight_decay == 0) {
      ForEach(n, this->MakeUpdate(static_cast<const AdamRule&>(rule_)), &context_);
    } else {
      ForEach(n, this->MakeUpdate(rule_), &context_);
    }
    return true;
  }

 private:
  const WithWeightDecay<AdamRule> rule_;
};

}  // namespace caffe2
