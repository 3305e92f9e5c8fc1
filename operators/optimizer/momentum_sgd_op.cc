#include "operators/optimizer/momentum_sgd_op.h"

#include <algorithm>

#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"

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

namespace {

// The step of elements of any type, element by element.
template <typename T>
void StepElements(int64_t begin, int64_t end, const MomentumSgdStep<T>& s, float lr) {
  for (int64_t i = begin; i < end; ++i) {
    const float old = Widen(s.moment[i]), param = Widen(s.param[i]);
    const float next = s.momentum * old + lr * (Widen(s.grad[i]) + s.weight_decay * param);
    const float step = s.a * next + s.b * old;
    s.moment_out[i] = Narrow<T>(next);
    s.grad_out[i] = Narrow<T>(step);
    s.param_out[i] = Narrow<T>(param - step);
  }
}

template <typename T>
void SkipStep(int64_t n, const MomentumSgdStep<T>& s) {
  if (s.moment != s.moment_out) std::copy_n(s.moment, n, s.moment_out);
  std::fill_n(s.grad_out, n, T{});
  if (s.param != s.param_out) std::copy_n(s.param, n, s.param_out);
}

}  // namespace

template <>
void MomentumSgdOp<CPUContext, float>::Update(int64_t n, const Tensor& lr) {
  const float rate = *CheckLearningRate(lr);
  if (IsSet(step_.found_inf)) return SkipStep(n, step_);
  ParallelFor(n, kOptimizerGrain, [this, rate](int64_t begin, int64_t end) {
    const float *g = step_.grad + begin, *m = step_.moment + begin;
    float *g_out = step_.grad_out + begin, *m_out = step_.moment_out + begin;
    if (step_.weight_decay != 0) {
      StepElements(begin, end, step_, rate);
    } else if (step_.param == nullptr) {
      Adjust(end - begin, g, m, rate, factors_, g_out, m_out);
    } else {
      MomentumUpdate(end - begin, g, m, step_.param + begin, rate, factors_, g_out, m_out,
                     step_.param_out + begin);
    }
  });
}

template <>
void MomentumSgdOp<CPUContext, float16>::Update(int64_t n, const Tensor& lr) {
  const float rate = *CheckLearningRate(lr);
  if (IsSet(step_.found_inf)) return SkipStep(n, step_);
  ParallelFor(n, kOptimizerGrain,
              [this, rate](int64_t begin, int64_t end) { StepElements(begin, end, step_, rate); });
}

using FP16MomentumSgdOp = MomentumSgdOp<CPUContext, float16>;
REGISTER_CPU_OPERATOR(MomentumSGD, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(MomentumSGDUpdate, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(FP32MomentumSGDUpdate, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(FP16MomentumSGDUpdate, FP16MomentumSgdOp);

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
void UpdateSchema(OpSchema& schema) {
  schema.NumInputs(4, 5)
      .NumOutputs(3)
      .AllowInplace({{0, 0}, {1, 1}, {3, 2}})
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1], in[3]};
      })
      .FillUsing(CommonSchema)
      .Arg("weight_decay",
           "(float, default 0) weight_decay * param is added to the gradient first.")
      .Input(3, "param", "The parameter, shaped like the gradient.")
      .Input(4, "found_inf", kFoundInfDoc)
      .Output(2, "output_param", "The new parameter; most often the same blob.");
}
OPERATOR_SCHEMA(MomentumSGDUpdate)
    .FillUsing(UpdateSchema)
    .SetDoc(std::string("Gradient descent with momentum. ") + kFormula +
            "The parameter becomes param - step.");
OPERATOR_SCHEMA(FP32MomentumSGDUpdate)
    .FillUsing(UpdateSchema)
    .SetDoc("MomentumSGDUpdate, under Caffe2's name for the float parameters of float16 networks.");
OPERATOR_SCHEMA(FP16MomentumSGDUpdate)
    .FillUsing(UpdateSchema)
    .SetDoc(
        "MomentumSGDUpdate for float16 parameters, gradients and momentum; arithmetic is in float, "
        "and results are rounded once.")
    .Arg("fp32_update", "Without effect: arithmetic is in float anyway.")
    .Input(0, "grad", "The float16 gradient.")
    .Input(1, "moment", "The float16 momentum, shaped like the gradient; zeros at the start.");
SHOULD_NOT_DO_GRADIENT(MomentumSGD);
SHOULD_NOT_DO_GRADIENT(MomentumSGDUpdate);
SHOULD_NOT_DO_GRADIENT(FP32MomentumSGDUpdate);
SHOULD_NOT_DO_GRADIENT(FP16MomentumSGDUpdate);

}  // namespace caffe2
