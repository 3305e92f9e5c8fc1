#include "operators/optimizer/adagrad_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

CAFFE2_SIMD_CLONES void AdagradUpdate(int64_t n, const AdagradArguments& arguments, float lr,
                                      const float* p, const float* h, const float* g, float* p_out,
                                      float* h_out) {
  const auto [epsilon, decay, weight_decay] = arguments;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float slope = g[i] + weight_decay * p[i];
    const float next = decay * h[i] + slope * slope;
    h_out[i] = next;
    p_out[i] = p[i] + lr * slope / (std::sqrt(next) + epsilon);
  }
}

template <>
bool AdagradOp<CPUContext>::RunOnDevice() {
  const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &grad = Input(GRAD);
  CheckOptimizerState(param, moment, "moment");
  CheckOptimizerState(param, grad, "gradient");
  const float lr = *CheckLearningRate(Input(LR));
  const float *p = param.data<float>(), *h = moment.data<float>(), *g = grad.data<float>();
  float* out[4] = {nullptr, nullptr, nullptr, nullptr};
  for (int i = 0; i < OutputSize(); ++i) {
    Output(i)->ResizeLike(param);
    out[i] = Output(i)->mutable_data<float>();
  }
  if (IsSet(FoundInf(this, FOUND_INF))) {
    KeepState({{&param, out[PARAM_OUT]}, {&moment, out[MOMENT_OUT]}}, out[UPDATE_OUT]);
    for (int64_t i = 0; out[RATE_OUT] != nullptr && i < param.numel(); ++i) {
      out[RATE_OUT][i] = lr / (std::sqrt(h[i]) + arguments_.epsilon);
    }
    return true;
  }
  ParallelFor(param.numel(), kOptimizerGrain, [&](int64_t begin, int64_t end) {
    // Before the update, which may be in place.
    for (int64_t i = begin; out[UPDATE_OUT] != nullptr && i < end; ++i) {
      out[UPDATE_OUT][i] = g[i] + arguments_.weight_decay * p[i];
    }
    AdagradUpdate(end - begin, arguments_, lr, p + begin, h + begin, g + begin,
                  out[PARAM_OUT] + begin, out[MOMENT_OUT] + begin);
    for (int64_t i = begin; out[RATE_OUT] != nullptr && i < end; ++i) {
      out[RATE_OUT][i] = lr / (std::sqrt(out[MOMENT_OUT][i]) + arguments_.epsilon);
      if (out[UPDATE_OUT] != nullptr) out[UPDATE_OUT][i] *= out[RATE_OUT][i];
    }
  });
  return true;
}

REGISTER_CPU_OPERATOR(Adagrad, AdagradOp<CPUContext>);

OPERATOR_SCHEMA(Adagrad)
    .NumInputs(4, 5)
    .NumOutputs(2, 4)
    .AllowInplace({{0, 0}, {1, 1}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Adagrad (Duchi et al., JMLR 2011): g = grad + weight_decay * param; moment' = decay * "
        "moment + g^2; param' = param + lr * g / (sqrt(moment') + epsilon). The rate is negative "
        "to descend.")
    .Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
    .Arg("decay", "(float, default 1) The share of the moment that is kept.")
    .Arg("weight_decay", "(float, default 0) The share of the parameter added to the gradient.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment", "The sum of squares, shaped like it; zeros at the start.")
    .Input(2, "grad", "The gradient, shaped like it.")
    .Input(3, "lr", "The learning rate, a float scalar; negative to descend.")
    .Input(4, "found_inf", kFoundInfDoc)
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment", "The new sum of squares.")
    .Output(2, "output_effective_lr", "Optional: the rate of each element.")
    .Output(3, "output_update", "Optional: what was added to each element.");
SHOULD_NOT_DO_GRADIENT(Adagrad);

}  // namespace caffe2
