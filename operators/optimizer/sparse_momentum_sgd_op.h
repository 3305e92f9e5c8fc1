// SparseMomentumSGDUpdate: momentum and update of the rows that a sparse gradient names.
#pragma once

#include "operators/optimizer/momentum_sgd_op.h"

namespace caffe2 {

template <class Context>
class SparseMomentumSgdOp final : public SparseUpdateOp<Context, MomentumSgdRule> {
 public:
  SparseMomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, MomentumSgdRule>(def, ws,
                                                 {.grad = 0,
                                                  .param = 3,
                                                  .states = 1,
                                                  .indices = 4,
                                                  .lr = 2,
                                                  .param_out = 2,
                                                  .states_out = 1,
                                                  .step_out = 0}) {}
};

}  // namespace caffe2
