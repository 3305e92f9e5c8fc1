// DecayAdagrad: Adagrad with a first moment and decoupled weight decay.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

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
    CAFFE_ENFORCE_EQ(Input(ITER).numel(), 1, "iter must be a scalar");
    const float lr = *CheckLearningRate(Input(LR));
    const double t = static_cast<double>(*Input(ITER).template data<int64_t>()) + 1;
    const float correction = correct_ ? static_cast<float>(1 / (1 - std::pow(beta1_, t))) : 1.f;
    const float *p = param.data<float>(), *g = grad.data<float>();
    const float* m1 = Input(MOMENT_1).template data<float>();
    const float* m2 = Input(MOMENT_2).template data<float>();
    float* out[3];
    for (int i = 0; i < 3; ++i) {
      Output(i)->ResizeLike(param);
      out[i] = Output(i)->template mutable_data<float>();
    }
    for (int64_t i = 0; i < param.numel(); ++i) {
      const float first = beta1_ * m1[i] + (1 - beta1_) * g[i];
      const float second = m2[i] + g[i] * g[i];
      const float step = correction * first / (std::sqrt(second) + epsilon_) + weight_decay_ * p[i];
      out[MOMENT_1][i] = first;
      out[MOMENT_2][i] = second;
      out[PARAM][i] = p[i] + lr * step;
    }
    return true;
  }

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, GRAD, LR, ITER };
  float beta1_, epsilon_, weight_decay_;
  bool correct_;
};

}  // namespace

REGISTER_CPU_OPERATOR(DecayAdagrad, DecayAdagradOp<CPUContext>);

OPERATOR_SCHEMA(DecayAdagrad)
    .NumInputs(6)
    .NumOutputs(3)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .InputsCanCrossDevices()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[2]};
    })
    .SetDoc(
        "Adagrad with a first moment: m1' = beta1 m1 + (1 - beta1) grad; m2' = m2 + grad^2; param' "
        "= param + lr * (c m1' / (sqrt(m2') + epsilon) + weight_decay * param), where c = 1 / (1 - "
        "beta1^(iter + 1)) corrects the start.")
    .Arg("beta1", "(float, default 0.9) The share of the first moment that is kept.")
    .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
    .Arg("weight_decay", "(float, default 0) The share of the parameter added to the step.")
    .Arg("bias_correction_first", "(bool, default true) Whether c is applied.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment_1", "The first moment, shaped like it; zeros at the start.")
    .Input(2, "moment_2", "The sum of squares, shaped like it; zeros at the start.")
    .Input(3, "grad", "The gradient, shaped like it.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(5, "iter", "The iteration from 0, int64 of one element, on the host.")
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment_1", "The new first moment.")
    .Output(2, "output_moment_2", "The new sum of squares.");
SHOULD_NOT_DO_GRADIENT(DecayAdagrad);

}  // namespace caffe2
