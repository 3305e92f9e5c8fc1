// Adam: gradient descent with adaptive moments (Kingma & Ba, ICLR 2015).
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, AdamRule* rule) {
  rule->beta1 = op.GetSingleArgument<float>("beta1", rule->beta1);
  rule->beta2 = op.GetSingleArgument<float>("beta2", rule->beta2);
  rule->epsilon = op.GetSingleArgument<float>("epsilon", rule->epsilon);
}

template <class Context>
class AdamOp final : public DenseUpdateOp<Context, AdamRule> {
 public:
  AdamOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, AdamRule>(def, ws,
                                         {.grad = 3,
                                          .param = 0,
                                          .states = 1,
                                          .lr = 4,
                                          .iter = 5,
                                          .found_inf = 6,
                                          .param_out = 0,
                                          .states_out = 1,
                                          .step_out = 3}) {}
};

}  // namespace caffe2
