// MomentumSGD and MomentumSGDUpdate: gradient descent with momentum.
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, MomentumSgdRule* rule) {
  *rule = MomentumSgdRule::Make(op.GetSingleArgument<float>("momentum", 0.f),
                                op.GetSingleArgument<int>("nesterov", 0) != 0);
}

// MomentumSGD; and MomentumSGDUpdate and its variants for float16, which also write the parameter.
// Tensors are of type T, and arithmetic is in float.
template <class Context, typename T = float>
class MomentumSgdOp final : public UpdateOp<Context, T> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : UpdateOp<Context, T>(def, ws,
                             {.grad = 0,
                              .param = 3,
                              .states = 1,
                              .lr = 2,
                              .found_inf = 4,
                              .param_out = 2,
                              .states_out = 1,
                              .step_out = 0}),
        rule_(ReadRule<WithWeightDecay<MomentumSgdRule>>(*this)) {
    CAFFE_ENFORCE(this->HasParam() || rule_.weight_decay == 0,
                  "the argument weight_decay needs the parameter as an input");
  }

  bool RunOnDevice() override {
    const int64_t n = Input(this->layout_.grad).numel();
    if (rule_.weight_decay == 0) {
      ForEach(n, this->MakeUpdate(static_cast<const MomentumSgdRule&>(rule_)), &context_);
    } else {
      ForEach(n, this->MakeUpdate(rule_), &context_);
    }
    return true;
  }

 private:
  const WithWeightDecay<MomentumSgdRule> rule_;
};

}  // namespace caffe2
