// Ftrl: follow the regularized leader, for sparse parameters (McMahan et al., KDD 2013).
#pragma once

#include "operators/common/portable_op.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

struct FtrlArguments {
  explicit FtrlArguments(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 0.005f)),
        rule{op.GetSingleArgument<float>("beta", 1.f),
             op.GetSingleArgument<float>("lambda1", 0.001f),
             op.GetSingleArgument<float>("lambda2", 0.001f)} {}

  // The rate is input i, if there is one, else the argument. Throws unless it is above 0; a rate on
  // a device is not looked at.
  template <class Context>
  Rate AlphaOf(const Operator<Context>& op, int i, Context* context) const {
    const Rate rate = op.InputSize() > i ? RateFor(op.template Input<Tensor>(i), "alpha", context)
                                         : Rate{nullptr, alpha};
    if (rate.address == nullptr || Context::kDeviceType == CPU) {
      CAFFE_ENFORCE_GT(rate(), 0, "alpha");
    }
    return rate;
  }

  float alpha;
  FtrlRule rule;
};

// Arguments but lambda1, inputs and outputs of the operators of this family.
void DescribeFtrl(OpSchema& schema);

template <class Context>
class FtrlOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FtrlOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws), arguments_(*this) {}
  bool RunOnDevice() override {
    const Tensor &var = Input(VAR), &n_z = Input(N_Z), &grad = Input(GRAD);
    CheckOptimizerState(var, grad, "gradient");
    CAFFE_ENFORCE_EQ(n_z.numel(), 2 * var.numel(), "n_z ", ShapeString(n_z.sizes()), " for var ",
                     ShapeString(var.sizes()), ": two values an element are needed");
    const float *w = var.data<float>(), *state = n_z.data<float>(), *g = grad.data<float>();
    Output(VAR_OUT)->ResizeLike(var);
    Output(N_Z_OUT)->ResizeLike(n_z);
    ForEach(var.numel(),
            FtrlElements{arguments_.rule, arguments_.AlphaOf(*this, ALPHA, &context_), w, state, g,
                         Output(VAR_OUT)->template mutable_data<float>(),
                         Output(N_Z_OUT)->template mutable_data<float>()},
            &context_);
    return true;
  }

 private:
  enum { VAR, N_Z, GRAD, ALPHA };
  enum { VAR_OUT, N_Z_OUT };
  FtrlArguments arguments_;
};

}  // namespace caffe2
