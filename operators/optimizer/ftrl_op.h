// Ftrl: follow the regularized leader, for sparse parameters (McMahan et al., KDD 2013).
#pragma once

#include "operators/optimizer/update_op.h"

namespace caffe2 {

inline void ReadArguments(const OperatorBase& op, FtrlRule* rule) {
  rule->beta = op.GetSingleArgument<float>("beta", rule->beta);
  rule->lambda1 = op.GetSingleArgument<float>("lambda1", rule->lambda1);
  rule->lambda2 = op.GetSingleArgument<float>("lambda2", rule->lambda2);
}

// The rate alpha: input i, if there is one, else the argument alpha. Throws EnforceNotMet unless it
// is positive; a rate in device memory is not checked.
template <class Context>
Rate FtrlRate(const Operator<Context>& op, int i, Context* context) {
  const Rate rate = op.InputSize() > i
                        ? RateFor(op.template Input<Tensor>(i), "alpha", context)
                        : Rate{nullptr, op.template GetSingleArgument<float>("alpha", 0.005f)};
  if (rate.address == nullptr || Context::kDeviceType == CPU) {
    CAFFE_ENFORCE(rate() > 0, "alpha must be positive, found ", rate());
  }
  return rate;
}

// Documents the arguments except lambda1, the inputs and the outputs of operators of this family.
void DescribeFtrl(OpSchema& schema);

template <class Context>
class FtrlOp final : public DenseUpdateOp<Context, FtrlRule> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FtrlOp(const OperatorDef& def, Workspace* ws)
      : DenseUpdateOp<Context, FtrlRule>(
            def, ws, {.grad = 2, .param = 0, .states = 1, .param_out = 0, .states_out = 1}) {}
  bool RunOnDevice() override {
    auto update = this->MakeUpdate(this->rule_);
    update.lr = FtrlRate(*this, ALPHA, &context_);
    ForEach(Input(VAR).numel(), update, &context_);
    return true;
  }

 private:
  enum { VAR = 0, ALPHA = 3 };
};

}  // namespace caffe2
