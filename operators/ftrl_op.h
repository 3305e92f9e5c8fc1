// Ftrl: follow the regularized leader, for sparse parameters (McMahan et al., KDD 2013).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class FtrlOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FtrlOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        alpha_(this->template GetSingleArgument<float>("alpha", 0.005f)),
        beta_(this->template GetSingleArgument<float>("beta", 1.f)),
        lambda1_(this->template GetSingleArgument<float>("lambda1", 0.001f)),
        lambda2_(this->template GetSingleArgument<float>("lambda2", 0.001f)) {}
  bool RunOnDevice() override;

 private:
  enum { VAR, N_Z, GRAD, ALPHA };
  enum { VAR_OUT, N_Z_OUT };
  float alpha_, beta_, lambda1_, lambda2_;
};

}  // namespace caffe2
