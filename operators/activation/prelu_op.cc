#include "operators/activation/prelu_op.h"

namespace caffe2 {

template <>
template <typename T>
void PReluGradientOp<CPUContext>::Derive(const Sizes& s, const T* x, const float* slope,
                                         const T* dy, T* dx, float* d_slope) {
  for (int64_t c = 0; c < s.channels; ++c) {
    double sum = 0;
    for (int64_t o = 0; o < s.outer; ++o) {
      const int64_t begin = (o * s.channels + c) * s.inner;
      for (int64_t i = begin; i < begin + s.inner; ++i) {
        sum += PReluFunction().GradientB(host_device::Widen(dy[i]), host_device::Widen(x[i]), 0.f);
      }
    }
    d_slope[c] = static_cast<float>(sum);
  }
  SumDerivative(host_device::DerivativeA<PReluFunction>(), s.Plan(), s.outer * s.channels * s.inner,
                dy, x, slope, dx, &context_);
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
    .ArgOrder("(default NCHW) Where the channels of X are.")
    .Input(0, "X", "A float or bfloat16 tensor; on CUDA devices also float16.")
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
    .ArgOrder("As in PRelu.")
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
