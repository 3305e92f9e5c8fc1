// GFtrl: Ftrl that keeps or drops whole input features (group lasso).
#pragma once

#include "operators/optimizer/ftrl_op.h"
#include "operators/optimizer/global_rate_functions.h"

namespace caffe2 {

template <class Context>
class GFtrlOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GFtrlOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws), settings_(*this) {}

  bool RunOnDevice() override {
    const Tensor &var = Input(VAR), &n_z = Input(N_Z), &grad = Input(GRAD);
    CheckOptimizerState(var, grad, "gradient");
    CAFFE_ENFORCE_GE(var.dim(), 1, "the parameter must have rows");
    CAFFE_ENFORCE_EQ(n_z.numel(), 2 * var.numel(), "n_z ", ShapeString(n_z.sizes()), " for var ",
                     ShapeString(var.sizes()), ": two values an element are needed");
    GFtrlColumns columns{var.size(0),
                         var.size_from_dim(1),
                         settings_.rule,
                         settings_.AlphaOf(*this, ALPHA, &context_),
                         var.data<float>(),
                         n_z.data<float>(),
                         grad.data<float>(),
                         nullptr,
                         nullptr};
    Output(0)->ResizeLike(var);
    Output(1)->ResizeLike(n_z);
    columns.w_out = Output(0)->template mutable_data<float>();
    columns.state_out = Output(1)->template mutable_data<float>();
    ForEach(columns.features, columns, &context_);
    return true;
  }

 private:
  enum { VAR, N_Z, GRAD, ALPHA };
  FtrlArguments settings_;
};

}  // namespace caffe2
