#include "operators/momentum_sgd_op.h"

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

// Outputs may be the memory of inputs, element by element.
CAFFE2_SIMD_CLONES void Adjust(int64_t n, const float* g, const float* m, float lr,
                               const MomentumFactors& f, float* g_out, float* m_out) {
  const float momentum = f.momentum, a = f.a, b = f.b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float old = m[i];
    const float next = momentum * old + lr * g[i];
    m_out[i] = next;
    g_out[i] = a * next + b * old;
  }
}

}  // namespace

CAFFE2_SIMD_CLONES void MomentumUpdate(int64_t n, const float* g, const float* m, const float* p,
                                       float lr, const MomentumFactors& f, float* g_out,
                                       float* m_out, float* p_out) {
  const float momentum = f.momentum, a = f.a, b = f.b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float old = m[i];
    const float next = momentum * old + lr * g[i];
    const float step = a * next + b * old;
    m_out[i] = next;
    g_out[i] = step;
    p_out[i] = p[i] - step;
  }
}

template <>
void MomentumSgdOp<CPUContext>::Update(int64_t n, const Tensor& lr, const Step& step) {
  const float rate = *CheckLearningRate(lr);
  ParallelFor(n, kOptimizerGrain, [this, rate, &step](int64_t begin, int64_t end) {
    const float *g = step.grad + begin, *m = step.moment + begin;
    float *g_out = step.grad_out + begin, *m_out = step.moment_out + begin;
    if (step.param == nullptr) {
      Adjust(end - begin, g, m, rate, factors_, g_out, m_out);
    } else {
      MomentumUpdate(end - begin, g, m, step.param + begin, rate, factors_, g_out, m_out,
                     step.param_out + begin);
    }
  });
}

REGISTER_CPU_OPERATOR(MomentumSGD, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(MomentumSGDUpdate, MomentumSgdOp<CPUContext>);

namespace {

void CommonSchema(OpSchema& schema) {
  schema.Arg("momentum", "(float, default 0) The share of the last step that is kept.")
      .Arg("nesterov", "(int, default 0) 1 for Nesterov's form.")
      .Input(0, "grad", "The float gradient.")
      .Input(1, "moment", "The momentum, shaped like the gradient; zeros at the start.")
      .Input(2, "lr", "The learning rate, a float scalar; positive to descend.")
      .Output(0, "output_grad", "The step: what is subtracted from the parameter.")
      .Output(1, "output_moment", "The new momentum.");
}

constexpr const char* kFormula =
    "m' = momentum * m + lr * grad; the step is m', or with nesterov (1 + momentum) * m' - "
    "momentum * m (Sutskever et al., ICML 2013). ";

}  // namespace

OPERATOR_SCHEMA(MomentumSGD)
    .NumInputs(3)
    .NumOutputs(2)
    .AllowInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc(std::string("The step of gradient descent with momentum. ") + kFormula +
            "The parameter is left to another operator.")
    .FillUsing(CommonSchema);
OPERATOR_SCHEMA(MomentumSGDUpdate)
    .NumInputs(4)
    .NumOutputs(3)
    .AllowInplace({{0, 0}, {1, 1}, {3, 2}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[3]};
    })
    .SetDoc(std::string("Gradient descent with momentum. ") + kFormula +
            "The parameter becomes param - step.")
    .FillUsing(CommonSchema)
    .Input(3, "param", "The parameter, shaped like the gradient.")
    .Output(2, "output_param", "The new parameter; most often the same blob.");
SHOULD_NOT_DO_GRADIENT(MomentumSGD);
SHOULD_NOT_DO_GRADIENT(MomentumSGDUpdate);

}  // namespace caffe2
