// DecayAdagrad: Adagrad with a first moment and decoupled weight decay.
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, DecayAdagradRule* rule) {
  rule->squares.epsilon = op.GetSingleArgument<float>("epsilon", rule->squares.epsilon);
  rule->beta1 = op.GetSingleArgument<float>("beta1", rule->beta1);
  rule->weight_decay = op.GetSingleArgument<float>("weight_decay", rule->weight_decay);
  rule->corrected = op.GetSingleArgument<bool>("bias_correction_first", rule->corrected);
}

template <class Context>
class DecayAdagradOp final : public DenseUpdateOp<Context, DecayAdagradRule> {
 public:
  DecayAdagradOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, DecayAdagradRule>(def, ws,
                                                 {.grad = 3,
                                                  .param = 0,
                                                  .states = 1,
                                                  .lr = 4,
                                                  .iter = 5,
                                                  .param_out = 0,
                                                  .states_out = 1}) {}
};

}  // namespace caffe2
