// MomentumSGD and MomentumSGDUpdate: gradient descent with momentum.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/optimizer_kernels.h"

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

// MomentumSGD, and MomentumSGDUpdate and its forms for float16, which also write the parameter.
// Tensors are of T, and arithmetic is in float.
template <class Context, typename T = float>
class MomentumSgdOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), updates_(OutputSize() > PARAM_OUT), factors_(*this) {
    step_.momentum = factors_.momentum;
    step_.a = factors_.a;
    step_.b = factors_.b;
    step_.weight_decay = this->template GetSingleArgument<float>("weight_decay", 0.f);
    CAFFE_ENFORCE(updates_ || step_.weight_decay == 0, "weight_decay needs the parameter");
  }

  bool RunOnDevice() override {
    const Tensor &grad = Input(GRAD), &moment = Input(MOMENTUM);
    CheckOptimizerState(grad, moment, "momentum");
    step_.grad = grad.data<T>();
    step_.moment = moment.data<T>();
    if (updates_) {
      CheckOptimizerState(Input(PARAM), grad, "gradient");
      step_.param = Input(PARAM).template data<T>();
      step_.param_out = Like(Input(PARAM), PARAM_OUT);
    }
    step_.grad_out = Like(grad, GRAD_OUT);
    step_.moment_out = Like(moment, MOMENTUM_OUT);
    step_.found_inf = FoundInf(this, FOUND_INF);
    // The rate may lie in host memory.
    Update(grad.numel(), this->template Input<Tensor>(LR));
    return true;
  }

 private:
  enum { GRAD, MOMENTUM, LR, PARAM, FOUND_INF };
  enum { GRAD_OUT, MOMENTUM_OUT, PARAM_OUT };

  T* Like(const Tensor& input, int output) {
    Output(output)->ResizeLike(input);
    return Output(output)->template mutable_data<T>();
  }
  // Does step_, all of which but the rate is set.
  void Update(int64_t n, const Tensor& lr);

  const bool updates_;
  const MomentumFactors factors_;
  MomentumSgdStep<T> step_;
};

}  // namespace caffe2
