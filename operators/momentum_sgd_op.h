// MomentumSGD and MomentumSGDUpdate: gradient descent with momentum.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {

// A step from momentum: m' = momentum m + lr g and
//   plain:    step = m'
//   Nesterov: step = (1 + momentum) m' - momentum m
// Both are step = a m' + b m, with (a, b) = (1, 0) or (1 + momentum, -momentum).
struct MomentumFactors {
  MomentumFactors(float momentum, bool nesterov)
      : momentum(momentum), a(nesterov ? 1 + momentum : 1.f), b(nesterov ? -momentum : 0.f) {}
  // Reads the arguments momentum and nesterov.
  explicit MomentumFactors(const OperatorBase& op)
      : MomentumFactors(op.GetSingleArgument<float>("momentum", 0.f),
                        op.GetSingleArgument<int>("nesterov", 0) != 0) {}
  float momentum, a, b;
};

// The step g_out, the new momentum and p' = p - step of n elements on the host. Outputs may be the
// memory of inputs, element by element.
void MomentumUpdate(int64_t n, const float* g, const float* m, const float* p, float lr,
                    const MomentumFactors& factors, float* g_out, float* m_out, float* p_out);

// With kUpdate also writes the parameter.
template <class Context, bool kUpdate>
class MomentumSgdOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), factors_(*this) {}

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

  MomentumFactors factors_;
};

}  // namespace caffe2
