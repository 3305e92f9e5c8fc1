// AffineChannel: a factor and an offset for each channel of an image; what a batch normalization
// whose statistics are fixed comes to.
#include "caffe2/core/operator.h"
#include "operators/spatial_bn_kernels.h"

namespace caffe2 {
namespace {

// What the forward and the gradient operator have in common.
class AffineChannelBase : public Operator<CPUContext> {
 public:
  AffineChannelBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

 protected:
  // The shape of an image; throws unless `values` has one float for each channel.
  ChannelShape CheckShapes(const Tensor& image, const Tensor& values, const char* name) {
    const ChannelShape shape = ChannelShape::Make(image.sizes(), order_);
    CAFFE_ENFORCE_EQ(values.numel(), shape.channels, "elements of ", name, ", for an image ",
                     ShapeString(image.sizes()));
    zeros_.assign(shape.channels, 0.f);
    return shape;
  }

  std::vector<float> zeros_;  // one for each channel

 private:
  StorageOrder order_;
};

class AffineChannelOp final : public AffineChannelBase {
 public:
  using AffineChannelBase::AffineChannelBase;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const ChannelShape shape = CheckShapes(X, Input(1), "scale");
    CheckShapes(X, Input(2), "bias");
    const T* x = X.data<T>();
    Output(0)->ResizeLike(X);
    NormalizeChannels<T>(shape, x, zeros_.data(), Input(1).data<float>(), Input(2).data<float>(),
                         nullptr, false, Output(0)->mutable_data<T>());
    return true;
  }
};

// dX = dY scale; where scale and bias are learned, d_scale = sum of dY X, d_bias = sum of dY.
class AffineChannelGradientOp final : public AffineChannelBase {
 public:
  AffineChannelGradientOp(const OperatorDef& def, Workspace* ws)
      : AffineChannelBase(def, ws), learned_(GetSingleArgument<bool>("is_learnable", false)) {
    CAFFE_ENFORCE(InputSize() == (learned_ ? 3 : 2) && OutputSize() == (learned_ ? 3 : 1),
                  "with is_learnable there are 3 inputs and 3 outputs, without 2 and 1, not ",
                  InputSize(), " and ", OutputSize());
  }
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &scale = Input(InputSize() - 1);
    const ChannelShape shape = CheckShapes(dY, scale, "scale");
    const T* dy = dY.data<T>();
    if (learned_) SumChannels(shape, dy);
    Output(0)->ResizeLike(dY);
    NormalizeChannels<T>(shape, dy, zeros_.data(), scale.data<float>(), zeros_.data(), nullptr,
                         false, Output(0)->mutable_data<T>());
    return true;
  }

 private:
  template <typename T>
  void SumChannels(const ChannelShape& shape, const T* dy) {
    const Tensor& X = Input(1);
    CAFFE_ENFORCE(X.sizes() == Input(0).sizes(), "gradient ", ShapeString(Input(0).sizes()),
                  " for X ", ShapeString(X.sizes()));
    for (int i : {1, 2}) Output(i)->Resize(shape.channels);
    NormalizeGradient<T> in;
    in.x = X.data<T>();
    in.dy = dy;
    in.mean = zeros_.data();
    ChannelGradientSums<T>(shape, in, Output(2)->mutable_data<float>(),
                           Output(1)->mutable_data<float>(), nullptr);
  }

  bool learned_;
};

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

void Arguments(OpSchema& schema) {
  schema.Arg("order", "(string, default NCHW) NCHW or NHWC.")
      .Arg("is_learnable", "(bool, default 0) 1: scale and bias get gradients too.");
}

}  // namespace

REGISTER_CPU_OPERATOR(AffineChannel, AffineChannelOp);
REGISTER_CPU_OPERATOR(AffineChannelGradient, AffineChannelGradientOp);
OPERATOR_SCHEMA(AffineChannel)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc(
        "Y = X * scale + bias, with a scale and a bias for each channel: a batch normalization "
        "whose statistics are fixed.")
    .Input(0, "X", "A float or bfloat16 image, N x C x H x W (NCHW) or N x H x W x C (NHWC).")
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
    .FillUsing(Arguments)
    .SetDoc("The gradients of AffineChannel.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "X_or_scale", "With is_learnable the input X, else the scale.")
    .Input(2, "scale", "With is_learnable, the scale.")
    .Output(0, "dX", "The gradient of X; may overwrite dY.")
    .Output(1, "d_scale", "The gradient of the scale.")
    .Output(2, "d_bias", "The gradient of the bias.");
REGISTER_GRADIENT(AffineChannel, GetAffineChannelGradient);

}  // namespace caffe2
