// Adadelta and SparseAdadelta (Zeiler, 2012): the running means of squared gradients and steps give
// each element a rate.
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, AdadeltaRule* rule) {
  rule->epsilon = op.GetSingleArgument<float>("epsilon", rule->epsilon);
  rule->decay = op.GetSingleArgument<float>("decay", rule->decay);
}

template <class Context>
class AdadeltaOp final : public DenseUpdateOp<Context, AdadeltaRule> {
 public:
  AdadeltaOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, AdadeltaRule>(
            def, ws,
            {.grad = 3, .param = 0, .states = 1, .lr = 4, .param_out = 0, .states_out = 1}) {}
};

template <class Context>
class SparseAdadeltaOp final : public SparseUpdateOp<Context, AdadeltaRule> {
 public:
  SparseAdadeltaOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, AdadeltaRule>(def, ws,
                                              {.grad = 4,
                                               .param = 0,
                                               .states = 1,
                                               .indices = 3,
                                               .lr = 5,
                                               .param_out = 0,
                                               .states_out = 1}) {}
};

}  // namespace caffe2
