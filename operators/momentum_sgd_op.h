// MomentumSGD and MomentumSGDUpdate: gradient descent with momentum.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {

// With kUpdate also writes the parameter.
template <class Context, bool kUpdate>
class MomentumSgdOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        momentum_(this->template GetSingleArgument<float>("momentum", 0.f)),
        nesterov_(this->template GetSingleArgument<int>("nesterov", 0) != 0) {}

  bool RunOnDevice() override {
    const Tensor &grad = Input(GRAD), &moment = Input(MOMENTUM), &lr = Input(LR);
    const Tensor* param = kUpdate ? &Input(PARAM) : nullptr;
    CheckOptimizerState(grad, moment, "momentum");
    if (kUpdate) CheckOptimizerState(*param, grad, "gradient");
    const float *grad_data = grad.data<float>(), *moment_data = moment.data<float>();
    const float *lr_data = CheckLearningRate(lr),
                *param_data = kUpdate ? param->data<float>() : nullptr;
    Tensor *grad_out = Output(GRAD_OUT), *moment_out = Output(MOMENTUM_OUT);
    grad_out->ResizeLike(grad);
    moment_out->ResizeLike(moment);
    float* param_out = nullptr;
    if (kUpdate) {
      Output(PARAM_OUT)->ResizeLike(*param);
      param_out = Output(PARAM_OUT)->template mutable_data<float>();
    }
    Update(grad.numel(), grad_data, moment_data, lr_data, param_data,
           grad_out->template mutable_data<float>(), moment_out->template mutable_data<float>(),
           param_out);
    return true;
  }

 private:
  enum { GRAD, MOMENTUM, LR, PARAM };
  enum { GRAD_OUT, MOMENTUM_OUT, PARAM_OUT };

  // The parameter pointers are null without kUpdate.
  void Update(int64_t n, const float* grad, const float* moment, const float* lr,
              const float* param, float* grad_out, float* moment_out, float* param_out);

  float momentum_;
  bool nesterov_;
};

}  // namespace caffe2
