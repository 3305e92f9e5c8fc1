// RmsProp (Tieleman & Hinton, 2012): divides gradients by the root of the running mean of their
// squares.
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, RmsPropRule* rule) {
  rule->decay = op.GetSingleArgument<float>("decay", rule->decay);
  rule->momentum = op.GetSingleArgument<float>("momentum", rule->momentum);
  rule->epsilon = op.GetSingleArgument<float>("epsilon", rule->epsilon);
}

// grad, mean_squares, momentum, lr, [found_inf] -> step, mean_squares, momentum. Another operator
// adds the step to the parameter.
template <class Context>
class RmsPropOp final : public DenseUpdateOp<Context, RmsPropRule> {
 public:
  RmsPropOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, RmsPropRule>(
            def, ws,
            {.grad = 0, .states = 1, .lr = 3, .found_inf = 4, .states_out = 1, .step_out = 0}) {}
};

}  // namespace caffe2
