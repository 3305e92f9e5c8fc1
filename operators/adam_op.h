// Adam: gradient descent with adaptive moments (Kingma & Ba, ICLR 2015).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class AdamOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdamOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        beta1_(this->template GetSingleArgument<float>("beta1", 0.9f)),
        beta2_(this->template GetSingleArgument<float>("beta2", 0.999f)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)) {}
  bool RunOnDevice() override;

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, GRAD, LR, ITER };
  enum { PARAM_OUT, MOMENT_1_OUT, MOMENT_2_OUT, GRAD_OUT };
  float beta1_, beta2_, epsilon_;
};

}  // namespace caffe2
