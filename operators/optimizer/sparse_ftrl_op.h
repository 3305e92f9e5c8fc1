// SparseFtrl: Ftrl of the rows that a sparse gradient names.
#pragma once

#include "operators/optimizer/ftrl_op.h"

namespace caffe2 {

template <class Context>
class SparseFtrlOp final : public SparseUpdateOp<Context, FtrlRule> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseFtrlOp(const OperatorDef& def, Workspace* ws)
      : SparseUpdateOp<Context, FtrlRule>(
            def, ws,
            {.grad = 3, .param = 0, .states = 1, .indices = 2, .param_out = 0, .states_out = 1}) {}
  bool RunOnDevice() override {
    auto rows = this->template MakeRows<SparseUpdate>(this->rule_);
    rows.elements.lr = FtrlRate(*this, ALPHA, &context_);
    this->UpdateParamRows(rows);
    return true;
  }

 private:
  enum { ALPHA = 4 };
};

}  // namespace caffe2
