#include "operators/optimizer/rmsprop_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {
namespace {

// Outputs may be the memory of inputs, element by element.
CAFFE2_SIMD_CLONES void RmsPropUpdate(int64_t n, float decay, float momentum, float epsilon,
                                      float lr, const float* g, const float* ms, const float* mom,
                                      float* g_out, float* ms_out, float* mom_out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float mean_square = ms[i] + (1 - decay) * (g[i] * g[i] - ms[i]);
    const float step = momentum * mom[i] + lr * g[i] / std::sqrt(epsilon + mean_square);
    ms_out[i] = mean_square;
    mom_out[i] = step;
    g_out[i] = step;
  }
}

}  // namespace

template <>
bool RmsPropOp<CPUContext>::RunOnDevice() {
  const Tensor &grad = Input(GRAD), &ms = Input(MEAN_SQUARES), &mom = Input(MOMENTUM);
  CheckOptimizerState(grad, ms, "mean squares");
  CheckOptimizerState(grad, mom, "momentum");
  const float lr = *CheckLearningRate(Input(LR));
  const float *g = grad.data<float>(), *ms_data = ms.data<float>(), *mom_data = mom.data<float>();
  float* out[3];
  for (int i = 0; i < 3; ++i) {
    Output(i)->ResizeLike(grad);
    out[i] = Output(i)->mutable_data<float>();
  }
  if (IsSet(FoundInf(this, FOUND_INF))) {
    KeepState({{&ms, out[MEAN_SQUARES_OUT]}, {&mom, out[MOMENTUM_OUT]}}, out[GRAD_OUT]);
    return true;
  }
  ParallelFor(grad.numel(), kOptimizerGrain, [&](int64_t begin, int64_t end) {
    RmsPropUpdate(end - begin, decay_, momentum_, epsilon_, lr, g + begin, ms_data + begin,
                  mom_data + begin, out[GRAD_OUT] + begin, out[MEAN_SQUARES_OUT] + begin,
                  out[MOMENTUM_OUT] + begin);
  });
  return true;
}

REGISTER_CPU_OPERATOR(RmsProp, RmsPropOp<CPUContext>);

OPERATOR_SCHEMA(RmsProp)
    .NumInputs(4, 5)
    .NumOutputs(3)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "RmsProp (Tieleman & Hinton, 2012): mean_squares' = mean_squares + (1 - decay) * "
        "(grad^2 - mean_squares); momentum' = momentum * momentum + lr * grad / "
        "sqrt(epsilon + mean_squares'). The step is momentum'; another operator applies it.")
    .Arg("decay", "(float, default 0.9) The share of the mean squares that is kept.")
    .Arg("momentum", "(float, default 0) The share of the last step that is kept.")
    .Arg("epsilon", "(float, default 1e-5) Added under the root.")
    .Input(0, "grad", "The float gradient.")
    .Input(1, "mean_squares", "Shaped like the gradient.")
    .Input(2, "momentum", "The last step, shaped like the gradient; zeros at the start.")
    .Input(3, "lr", "The learning rate, a float scalar.")
    .Input(4, "found_inf", kFoundInfDoc)
    .Output(0, "output_grad", "The step.")
    .Output(1, "output_mean_squares", "The new mean squares.")
    .Output(2, "output_momentum", "The step, for the next run.");
SHOULD_NOT_DO_GRADIENT(RmsProp);

}  // namespace caffe2
