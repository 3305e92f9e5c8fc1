#include "operators/norm/affine_channel_op.h"

#include "operators/norm/channel_affine.h"

namespace caffe2 {

namespace {

class GetAffineChannelGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    if (!ArgumentHelper(Def()).GetSingleArgument<bool>("is_learnable", false)) {
      return SingleGradientDef("AffineChannelGradient", "", std::vector{GO(0), I(1)},
                               std::vector{GI(0)});
    }
    CAFFE_ENFORCE(I(0) != O(0), "the gradient of AffineChannel needs its input ", I(0),
                  ", which the operator overwrites");
    return SingleGradientDef("AffineChannelGradient", "", std::vector{GO(0), I(0), I(1)},
                             std::vector{GI(0), GI(1), GI(2)});
  }
};

void AffineChannelArguments(OpSchema& schema) {
  schema.ArgOrder().Arg<bool>("is_learnable", "(default 0) 1: scale and bias get gradients too.");
}

}  // namespace

REGISTER_CPU_OPERATOR(AffineChannel, AffineChannelOp<CPUContext>);
REGISTER_CPU_OPERATOR(AffineChannelGradient, AffineChannelGradientOp<CPUContext>);
OPERATOR_SCHEMA(AffineChannel)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(AffineChannelArguments)
    .SetDoc(
        "Y = X * scale + bias, with a scale and a bias for each channel: a batch normalization "
        "whose statistics are fixed.")
    .Input(
        0, "X",
        "A float or bfloat16 image, on CUDA devices also float16, N x C x H x W (NCHW) or N x H x "
        "W x C (NHWC).")
    .Input(1, "scale", "C floats.")
    .Input(2, "bias", "C floats.")
    .Output(0, "Y", "The result, shaped like X; may overwrite it.");
OPERATOR_SCHEMA(AffineChannelGradient)
    .NumInputs(2, 3)
    .NumOutputs(1, 3)
    .AllowInplace({{0, 0}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[0]};
      out.resize(def.output_size(), in.back());
      return out;
    })
    .FillUsing(AffineChannelArguments)
    .SetDoc("The gradients of AffineChannel.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "X_or_scale", "With is_learnable the input X, else the scale.")
    .Input(2, "scale", "With is_learnable, the scale.")
    .Output(0, "dX", "The gradient of X; may overwrite dY.")
    .Output(1, "d_scale", "The gradient of the scale.")
    .Output(2, "d_bias", "The gradient of the bias.");
REGISTER_GRADIENT(AffineChannel, GetAffineChannelGradient);

}  // namespace caffe2
