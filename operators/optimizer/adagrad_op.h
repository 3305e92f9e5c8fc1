// Adagrad: a learning rate per element (Duchi et al., JMLR 2011).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

struct AdagradArguments {
  float epsilon = 1e-5f;
  float decay = 1;
  float weight_decay = 0;
};

// g = grad + weight_decay * param, moment' = decay * moment + g^2,
// param' = param + lr * g / (sqrt(moment') + epsilon), for n elements on the host. Outputs may be
// the memory of inputs, element by element.
void AdagradUpdate(int64_t n, const AdagradArguments& arguments, float lr, const float* param,
                   const float* moment, const float* grad, float* param_out, float* moment_out);

template <class Context>
class AdagradOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdagradOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        arguments_{this->template GetSingleArgument<float>("epsilon", 1e-5f),
                   this->template GetSingleArgument<float>("decay", 1.f),
                   this->template GetSingleArgument<float>("weight_decay", 0.f)} {}
  bool RunOnDevice() override;

 private:
  enum { PARAM, MOMENT, GRAD, LR, FOUND_INF };
  enum { PARAM_OUT, MOMENT_OUT, RATE_OUT, UPDATE_OUT };
  AdagradArguments arguments_;
};

}  // namespace caffe2
