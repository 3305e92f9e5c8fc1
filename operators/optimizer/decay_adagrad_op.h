// DecayAdagrad: Adagrad with a first moment and decoupled weight decay.
#pragma once

#include <cmath>

#include "caffe2/core/device_backend.h"
#include "operators/common/portable_op.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

template <class Context>
class DecayAdagradOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DecayAdagradOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        beta1_(this->template GetSingleArgument<float>("beta1", 0.9f)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)),
        weight_decay_(this->template GetSingleArgument<float>("weight_decay", 0.f)),
        correct_(this->template GetSingleArgument<bool>("bias_correction_first", true)) {}

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckOptimizerState(param, Input(MOMENT_1), "moment_1");
    CheckOptimizerState(param, Input(MOMENT_2), "moment_2");
    CheckOptimizerState(param, grad, "gradient");
    const Tensor& iter = this->template Input<Tensor>(ITER);
    CAFFE_ENFORCE_EQ(iter.numel(), 1, "iter must be a scalar");
    Tensor copy(CPU);
    const double t = static_cast<double>(*OnHost(iter, &copy).template data<int64_t>()) + 1;
    const float correction = correct_ ? static_cast<float>(1 / (1 - std::pow(beta1_, t))) : 1.f;
    const float *p = param.data<float>(), *g = grad.data<float>();
    const float* m1 = Input(MOMENT_1).template data<float>();
    const float* m2 = Input(MOMENT_2).template data<float>();
    float* out[3];
    for (int i = 0; i < 3; ++i) {
      Output(i)->ResizeLike(param);
      out[i] = Output(i)->template mutable_data<float>();
    }
    const Rate lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    ForEach(param.numel(),
            DecayAdagradElements{beta1_, epsilon_, weight_decay_, correction, lr, p, m1, m2, g,
                                 out[PARAM], out[MOMENT_1], out[MOMENT_2]},
            &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, GRAD, LR, ITER };
  float beta1_, epsilon_, weight_decay_;
  bool correct_;
};

}  // namespace caffe2
