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

// MomentumSGD, and MomentumSGDUpdate, which also writes the parameter.
template <class Context>
class MomentumSgdOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), factors_(*this) {}

  bool RunOnDevice() override {
    const Tensor &grad = Input(GRAD), &moment = Input(MOMENTUM);
    CheckOptimizerState(grad, moment, "momentum");
    Step step;
    step.grad = grad.data<float>();
    step.moment = moment.data<float>();
    if (InputSize() > PARAM) {
      CheckOptimizerState(Input(PARAM), grad, "gradient");
      step.param = Input(PARAM).template data<float>();
      step.param_out = Like(Input(PARAM), PARAM_OUT);
    }
    step.grad_out = Like(grad, GRAD_OUT);
    step.moment_out = Like(moment, MOMENTUM_OUT);
    // The rate may lie in host memory.
    Update(grad.numel(), this->template Input<Tensor>(LR), step);
    return true;
  }

 private:
  enum { GRAD, MOMENTUM, LR, PARAM };
  enum { GRAD_OUT, MOMENTUM_OUT, PARAM_OUT };
  struct Step {
    const float *grad = nullptr, *moment = nullptr;
    const float* param = nullptr;  // null: the parameter is left to another operator
    float *grad_out = nullptr, *moment_out = nullptr, *param_out = nullptr;
  };

  float* Like(const Tensor& input, int output) {
    Output(output)->ResizeLike(input);
    return Output(output)->template mutable_data<float>();
  }
  void Update(int64_t n, const Tensor& lr, const Step& step);

  MomentumFactors factors_;
};

}  // namespace caffe2
