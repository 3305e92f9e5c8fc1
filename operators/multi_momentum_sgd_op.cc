#include "operators/multi_momentum_sgd_op.h"

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

CAFFE2_SIMD_CLONES void DecayedUpdate(int64_t n, const float* g, const float* m, const float* p,
                                      float lr, float decay, const MomentumFactors& f, float* m_out,
                                      float* p_out) {
  const float momentum = f.momentum, a = f.a, b = f.b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float old = m[i];
    const float next = momentum * old + lr * (g[i] + decay * p[i]);
    m_out[i] = next;
    p_out[i] = p[i] - (a * next + b * old);
  }
}

}  // namespace

template <>
void MultiMomentumSgdOp<CPUContext>::Update(const Tensor& lr) {
  const float rate = *CheckLearningRate(lr);
  for (const One& one : updates_) {
    ParallelFor(one.n, kOptimizerGrain, [&](int64_t begin, int64_t end) {
      DecayedUpdate(end - begin, one.grad + begin, one.moment + begin, one.param + begin, rate,
                    one.decay, factors_, one.moment_out + begin, one.param_out + begin);
    });
  }
}

REGISTER_CPU_OPERATOR(MultiMomentumSGDUpdate, MultiMomentumSgdOp<CPUContext>);
OPERATOR_SCHEMA(MultiMomentumSGDUpdate)
    .NumInputsOutputs([](int in, int out) { return in >= 4 && in % 3 == 1 && out == in / 3 * 2; })
    .AllowInplace([](int in, int out) { return in > out; })
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const int n = def.input_size() / 3;
      std::vector<TensorShape> out(in.begin() + n, in.begin() + 2 * n);
      out.insert(out.end(), in.begin() + 2 * n + 1, in.end());
      return out;
    })
    .SetDoc(
        "MomentumSGDUpdate of n parameters at once, with weight decay: grad + weight_decay * param "
        "takes the place of grad. The gradients themselves stay as they are. On CUDA devices it is "
        "one kernel if the gradients, the momenta and the parameters are each laid out in one "
        "block (argument flat).")
    .Arg("momentum", "(float, default 0) The share of the last step that is kept.")
    .Arg("nesterov", "(int, default 0) 1 for Nesterov's form.")
    .Arg("weight_decay", "(floats, default zeros) One for each parameter.")
    .Arg("flat",
         "(bool, default false) The tensors are views of three blocks, at the same offsets of "
         "multiples of 64 elements, and what lies between them may be written.")
    .Input(0, "grads", "n float gradients.")
    .Input(1, "moments",
           "n momenta, shaped like the gradients; then lr, a float scalar, positive "
           "to descend; then n parameters.")
    .Output(0, "output_moments", "n new momenta; most often the same blobs.")
    .Output(1, "output_params", "n new parameters; most often the same blobs.");
SHOULD_NOT_DO_GRADIENT(MultiMomentumSGDUpdate);

}  // namespace caffe2
