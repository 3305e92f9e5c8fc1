// Adagrad: a learning rate per element (Duchi et al., JMLR 2011).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class AdagradOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdagradOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)),
        decay_(this->template GetSingleArgument<float>("decay", 1.f)) {}
  bool RunOnDevice() override;

 private:
  enum { PARAM, MOMENT, GRAD, LR };
  enum { PARAM_OUT, MOMENT_OUT, RATE_OUT, UPDATE_OUT };
  float epsilon_, decay_;
};

}  // namespace caffe2
