// GFtrl: Ftrl with group lasso, which keeps or zeroes whole columns (input features) of the
// parameter.
#pragma once

#include "operators/optimizer/ftrl_op.h"
#include "operators/optimizer/global_rate_functions.h"

namespace caffe2 {

template <class Context>
class GFtrlOp final : public UpdateOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GFtrlOp(const OperatorDef& def, Workspace* ws)
      : UpdateOp<Context>(def, ws,
                          {.grad = 2, .param = 0, .states = 1, .param_out = 0, .states_out = 1}),
        rule_(ReadRule<FtrlRule>(*this)) {}

  bool RunOnDevice() override {
    const Tensor& var = Input(VAR);
    CAFFE_ENFORCE(var.dim() >= 1, "the parameter must have at least one axis, found a scalar");
    const int64_t outputs = var.size(0), features = var.size_from_dim(1);
    auto update = this->MakeUpdate(rule_);
    update.lr = FtrlRate(*this, ALPHA, &context_);
    ForEach(features, GFtrlColumns{outputs, features, update}, &context_);
    return true;
  }

 private:
  enum { VAR = 0, ALPHA = 3 };
  const FtrlRule rule_;
};

}  // namespace caffe2
