#include "operators/activation/prelu_op.h"

#include "caffe2/utils/narrow_float.h"

namespace caffe2 {

template <>
template <typename T>
bool PReluOp<CPUContext>::DoRunWithType() {
  const Tensor &x = Input(0), &slope = Input(1);
  const Sizes s = GetSizes(x, slope);
  const T* x_data = x.data<T>();
  const float* slope_data = slope.data<float>();
  Tensor* y = Output(0);
  if (y != &x) y->ResizeLike(x);
  T* y_data = y->mutable_data<T>();
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t c = 0; c < s.channels; ++c) {
      const int64_t begin = (o * s.channels + c) * s.inner;
      for (int64_t i = begin; i < begin + s.inner; ++i) {
        const float value = Widen(x_data[i]);
        Store(value > 0 ? value : slope_data[c] * value, &y_data[i]);
      }
    }
  }
  return true;
}

template <>
template <typename T>
bool PReluGradientOp<CPUContext>::DoRunWithType() {
  const Tensor &x = Input(1), &slope = Input(2), &dy = Input(3);
  const Sizes s = GetSizes(x, slope);
  CAFFE_ENFORCE_EQ(dy.numel(), x.numel(), "gradient ", ShapeString(dy.sizes()), " for X ",
                   ShapeString(x.sizes()));
  const T *x_data = x.data<T>(), *dy_data = dy.data<T>();
  const float* slope_data = slope.data<float>();
  Tensor *dx = Output(0), *d_slope = Output(1);
  dx->ResizeLike(x);
  d_slope->ResizeLike(slope);
  T* dx_data = dx->mutable_data<T>();
  float* d_slope_data = d_slope->mutable_data<float>();
  for (int64_t c = 0; c < s.channels; ++c) {
    double sum = 0;
    for (int64_t o = 0; o < s.outer; ++o) {
      const int64_t begin = (o * s.channels + c) * s.inner;
      for (int64_t i = begin; i < begin + s.inner; ++i) {
        const float value = Widen(x_data[i]), gradient = Widen(dy_data[i]);
        if (!(value > 0)) sum += static_cast<double>(gradient) * value;
        Store(value > 0 ? gradient : slope_data[c] * gradient, &dx_data[i]);
      }
    }
    d_slope_data[c] = static_cast<float>(sum);
  }
  return true;
}

REGISTER_CPU_OPERATOR(PRelu, PReluOp<CPUContext>);
REGISTER_CPU_OPERATOR(PReluGradient, PReluGradientOp<CPUContext>);

OPERATOR_SCHEMA(PRelu)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The rectifier with learned slopes (He et al., ICCV 2015): Y = X where X > 0, else "
        "slope * X.")
    .Arg("order", "(string, default NCHW) NCHW or NHWC: where the channels of X are.")
    .Input(0, "X", "A float or bfloat16 tensor.")
    .Input(1, "slope", "Float slopes: one for all, or one for each channel.")
    .Output(0, "Y", "The result, shaped like X; may overwrite X if no gradient is needed.");
OPERATOR_SCHEMA(PReluGradient)
    .NumInputs(4)
    .NumOutputs(2)
    .AllowInplace({{3, 0}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2]};
    })
    .SetDoc(
        "The gradients of PRelu: dX = dY where X > 0, else slope * dY; d_slope = the sum of X "
        "* dY over the X <= 0 of the channel.")
    .Arg("order", "As in PRelu.")
    .Input(0, "Y", "The output of PRelu; not used.")
    .Input(1, "X", "The input of PRelu.")
    .Input(2, "slope", "The slopes.")
    .Input(3, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X; may overwrite dY.")
    .Output(1, "d_slope", "The gradient of the slopes.");

class GetPReluGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0), "the gradient of PRelu needs its input ", I(0),
                  ", which the operator overwrites");
    return SingleGradientDef("PReluGradient", "", std::vector{O(0), I(0), I(1), GO(0)},
                             std::vector{GI(0), GI(1)});
  }
};
REGISTER_GRADIENT(PRelu, GetPReluGradient);

}  // namespace caffe2
