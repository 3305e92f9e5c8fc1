#include "operators/optimizer/adam_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

float AdamCorrection(float beta1, float beta2, int64_t iter) {
  const auto t = static_cast<double>(iter + 1);
  return static_cast<float>(std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t)));
}

AdamFactors MakeAdamFactors(const AdamArguments& arguments, const Tensor& iter, float lr) {
  CAFFE_ENFORCE_EQ(iter.numel(), 1, "the iteration counter has one element");
  return {arguments, AdamCorrection(arguments.beta1, arguments.beta2, *iter.data<int64_t>()), lr};
}

CAFFE2_SIMD_CLONES void AdamUpdate(int64_t n, const AdamFactors& f, const float* p, const float* m1,
                                   const float* m2, const float* g, float* p_out, float* m1_out,
                                   float* m2_out, float* grad_out) {
  const float keep1 = f.arguments.beta1, keep2 = f.arguments.beta2;
  const float take1 = 1 - keep1, take2 = 1 - keep2;
  const float epsilon = f.arguments.epsilon, correction = f.correction, lr = f.lr;
  if (grad_out != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float first = keep1 * m1[i] + take1 * g[i];
      const float second = keep2 * m2[i] + take2 * g[i] * g[i];
      const float step = correction * first / (std::sqrt(second) + epsilon);
      m1_out[i] = first;
      m2_out[i] = second;
      grad_out[i] = step;
      p_out[i] = p[i] + lr * step;
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float first = keep1 * m1[i] + take1 * g[i];
    const float second = keep2 * m2[i] + take2 * g[i] * g[i];
    m1_out[i] = first;
    m2_out[i] = second;
    p_out[i] = p[i] + lr * (correction * first / (std::sqrt(second) + epsilon));
  }
}

template <>
bool AdamOp<CPUContext>::RunOnDevice() {
  const Tensor &param = Input(PARAM), &m1 = Input(MOMENT_1), &m2 = Input(MOMENT_2),
               &grad = Input(GRAD), &iter = Input(ITER);
  CheckOptimizerState(param, m1, "moment_1");
  CheckOptimizerState(param, m2, "moment_2");
  CheckOptimizerState(param, grad, "gradient");
  const AdamFactors factors = MakeAdamFactors(arguments_, iter, *CheckLearningRate(Input(LR)));
  const float *p = param.data<float>(), *m1_data = m1.data<float>(), *m2_data = m2.data<float>(),
              *g = grad.data<float>();
  float* out[4] = {nullptr, nullptr, nullptr, nullptr};
  for (int i = 0; i < OutputSize(); ++i) {
    Output(i)->ResizeLike(param);
    out[i] = Output(i)->mutable_data<float>();
  }
  if (IsSet(FoundInf(this, FOUND_INF))) {
    KeepState({{&param, out[PARAM_OUT]}, {&m1, out[MOMENT_1_OUT]}, {&m2, out[MOMENT_2_OUT]}},
              out[GRAD_OUT]);
    return true;
  }
  ParallelFor(param.numel(), kOptimizerGrain, [&](int64_t begin, int64_t end) {
    AdamUpdate(end - begin, factors, p + begin, m1_data + begin, m2_data + begin, g + begin,
               out[PARAM_OUT] + begin, out[MOMENT_1_OUT] + begin, out[MOMENT_2_OUT] + begin,
               out[GRAD_OUT] != nullptr ? out[GRAD_OUT] + begin : nullptr);
  });
  return true;
}

REGISTER_CPU_OPERATOR(Adam, AdamOp<CPUContext>);

OPERATOR_SCHEMA(Adam)
    .NumInputs(6, 7)
    .NumOutputs(3, 4)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[0], in[0], in[0], in[0]};
      out.resize(def.output_size());
      return out;
    })
    .InputsCanCrossDevices()
    .SetDoc(
        "Adam (Kingma & Ba, ICLR 2015), with t = iter + 1: m1' = beta1 m1 + (1 - beta1) g; "
        "m2' = beta2 m2 + (1 - beta2) g^2; step = sqrt(1 - beta2^t) / (1 - beta1^t) * m1' / "
        "(sqrt(m2') + epsilon); param' = param + lr * step. The rate is negative to descend.")
    .Arg("beta1", "(float, default 0.9) The share of the first moment that is kept.")
    .Arg("beta2", "(float, default 0.999) The share of the second moment that is kept.")
    .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment_1", "The first moment, shaped like it; zeros at the start.")
    .Input(2, "moment_2", "The second moment, shaped like it; zeros at the start.")
    .Input(3, "grad", "The gradient, shaped like it.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(5, "iter", "The iteration from 0, int64 of one element, on the host.")
    .Input(6, "found_inf", kFoundInfDoc)
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment_1", "The new first moment.")
    .Output(2, "output_moment_2", "The new second moment.")
    .Output(3, "output_grad", "Optional: the step.");
SHOULD_NOT_DO_GRADIENT(Adam);

}  // namespace caffe2
