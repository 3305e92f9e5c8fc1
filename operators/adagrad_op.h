// Adagrad: a learning rate per element (Duchi et al., JMLR 2011).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// moment' = decay * moment + grad^2, param' = param + lr * grad / (sqrt(moment') + epsilon), for n
// elements on the host. Outputs may be the memory of inputs, element by element.
void AdagradUpdate(int64_t n, float epsilon, float decay, float lr, const float* param,
                   const float* moment, const float* grad, float* param_out, float* moment_out);

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
