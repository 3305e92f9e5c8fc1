#include "operators/loss/loss_scale_op.h"

#include <cmath>

namespace caffe2 {

namespace {

// The arrays of T divided by the scale, in place if kUnscale; true if all quotients are finite.
template <typename T, bool kUnscale, class Arrays>
bool AreFinite(const Arrays& arrays, float scale) {
  bool finite = true;
  for (const auto& array : arrays) {
    T* x = static_cast<T*>(array.data);
    for (int64_t i = 0; i < array.size; ++i) {
      const float value = Widen(x[i]) / scale;
      finite = finite && std::isfinite(value);
      if constexpr (kUnscale) x[i] = Narrow<T>(value);
    }
  }
  return finite;
}

}  // namespace

template <>
void CheckFiniteAndUnscaleOp<CPUContext, true>::Clear(float* found_inf) {
  *found_inf = 0;
}
template <>
void CheckFiniteAndUnscaleOp<CPUContext, false>::Clear(float* found_inf) {
  *found_inf = 0;
}

template <>
template <typename T>
void CheckFiniteAndUnscaleOp<CPUContext, true>::Unscale(const float* scale, float* found_inf) {
  if (!AreFinite<T, true>(gradients_, *scale)) *found_inf = 1.f;
}
template <>
template <typename T>
void CheckFiniteAndUnscaleOp<CPUContext, false>::Unscale(const float* scale, float* found_inf) {
  if (!AreFinite<T, false>(gradients_, *scale)) *found_inf = 1.f;
}

template <>
void UpdateLossScaleOp<CPUContext>::Update(const float* found_inf, const float* scale,
                                           const int32_t* good_steps, float* scale_out,
                                           int32_t* good_steps_out) {
  const LossScaleState next = NextLossScale(rule_, {*scale, *good_steps}, *found_inf != 0);
  *scale_out = next.scale;
  *good_steps_out = next.good_steps;
}

REGISTER_CPU_OPERATOR(CheckFiniteAndUnscale, CheckFiniteAndUnscaleOp<CPUContext>);
using CheckFiniteOp = CheckFiniteAndUnscaleOp<CPUContext, false>;
REGISTER_CPU_OPERATOR(CheckFinite, CheckFiniteOp);
REGISTER_CPU_OPERATOR(UpdateLossScale, UpdateLossScaleOp<CPUContext>);

OPERATOR_SCHEMA(CheckFiniteAndUnscale)
    .NumInputs(2, std::numeric_limits<int>::max())
    .NumOutputs(2, std::numeric_limits<int>::max())
    .EnforceInplace([](int input, int output) { return input > 0 && input == output; })
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out = in;
      out[0] = CreateTensorShape({1}, TensorProto::FLOAT);
      return out;
    })
    .SetDoc(
        "Divides gradients of a scaled loss by the scale (Micikevicius et al., \"Mixed precision "
        "training\", ICLR 2018), and tells whether all of them are finite. Updates that take "
        "found_inf as input do nothing if it is not 0.")
    .Input(0, "scale", "The loss scale, a float scalar.")
    .Input(1, "gradient_0", "Gradients, each float, float16 or bfloat16.")
    .Output(0, "found_inf", "Float scalar: 1 if a quotient is infinite or NaN, else 0.")
    .Output(1, "gradient_0", "The gradients, divided; the same blobs.");
OPERATOR_SCHEMA(CheckFinite)
    .NumInputs(2, std::numeric_limits<int>::max())
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>(2, CreateTensorShape({1}, TensorProto::FLOAT));
    })
    .SetDoc(
        "CheckFiniteAndUnscale for updates that divide by the scale themselves "
        "(such as MultiMomentumSGDUpdate): the gradients are only read.")
    .Arg<bool>("flat",
               "(default false) Gradients that follow each other in one block, less than 64 "
               "elements apart, are read as one array, with the elements between them.")
    .Input(0, "scale", "The loss scale, a float scalar.")
    .Input(1, "gradient_0", "Gradients, each float, float16 or bfloat16.")
    .Output(0, "found_inf", "Float scalar: 1 if a gradient over scale is infinite or NaN, else 0.")
    .Output(1, "used_scale", "A copy of the scale, as a later operator may change the scale.");
SHOULD_NOT_DO_GRADIENT(CheckFinite);
OPERATOR_SCHEMA(UpdateLossScale)
    .NumInputs(3)
    .NumOutputs(2)
    .AllowInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc(
        "The next value of a dynamic loss scale: multiplies it by backoff_factor if a gradient "
        "was not finite, and by growth_factor after growth_interval good steps. A lowered scale is "
        "at least 2^-14, a raised one at most 2^24.")
    .Arg<float>("growth_factor", "(>= 1, default 2) The factor after growth_interval good steps.")
    .Arg<float>("backoff_factor", "(in (0, 1), default 0.5) The factor after a bad step.")
    .Arg<int>("growth_interval", "(> 0, default 2000) Number of good steps.")
    .Input(0, "scale", "The loss scale, a float scalar.")
    .Input(1, "good_steps", "int32 scalar: steps since the scale last changed; 0 at the start.")
    .Input(2, "found_inf", "The output of CheckFiniteAndUnscale.")
    .Output(0, "scale", "The next scale.")
    .Output(1, "good_steps", "The next count.");
SHOULD_NOT_DO_GRADIENT(CheckFiniteAndUnscale);
SHOULD_NOT_DO_GRADIENT(UpdateLossScale);

}  // namespace caffe2
