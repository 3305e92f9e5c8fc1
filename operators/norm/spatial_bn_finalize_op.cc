// SpatialBNFinalize and its gradient on the CPU.
#include "operators/norm/spatial_bn_finalize_op.h"

#include <algorithm>
#include <array>

namespace caffe2 {
namespace {

class SpatialBNFinalizeOp final : public SpatialBNFinalizeBase<CPUContext> {
 public:
  using SpatialBNFinalizeBase::SpatialBNFinalizeBase;

  bool RunOnDevice() override {
    const ChannelShape shape = ChannelShapeOf(Input(0).sizes(), order_);
    const float *sums = ChannelInput(1, shape), *squares = ChannelInput(2, shape);
    const float *scale = ChannelInput(3, shape), *bias = ChannelInput(4, shape);
    ChannelInput(5, shape);
    ChannelInput(6, shape);
    float *running_mean = ChannelOutput(2, shape), *running_variance = ChannelOutput(3, shape);
    float* bn_params = ResizeBnParams(kBnParamsRows, shape.channels, Output(1));
    const auto count = static_cast<double>(shape.PerChannel());
    const auto unbiased = static_cast<float>(count / std::max(1.0, count - 1));
    for (int64_t c = 0; c < shape.channels; ++c) {
      const double mean = count == 0 ? 0 : sums[c] / count;
      const double variance = count == 0 ? 0 : std::max(0.0, squares[c] / count - mean * mean);
      if (count > 0) {
        running_mean[c] = momentum_ * running_mean[c] + (1 - momentum_) * static_cast<float>(mean);
        running_variance[c] = momentum_ * running_variance[c] +
                              (1 - momentum_) * unbiased * static_cast<float>(variance);
      }
      const float inverse_std = count == 0 ? 0.f : InverseStd(static_cast<float>(variance));
      const float factor = scale[c] * inverse_std;
      const std::array<float, kBnParamsRows> rows = {static_cast<float>(mean),
                                                     inverse_std,
                                                     scale[c],
                                                     bias[c],
                                                     factor,
                                                     bias[c] - static_cast<float>(mean) * factor};
      for (int row = 0; row < kBnParamsRows; ++row) bn_params[row * shape.channels + c] = rows[row];
    }
    return true;
  }
};

class SpatialBNFinalizeGradientOp final : public SpatialBNOpBase<CPUContext> {
 public:
  using SpatialBNOpBase::SpatialBNOpBase;

  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &g = Input(2);
    CAFFE_ENFORCE(g.sizes() == x.sizes(), "g must have the shape of X: g has shape ",
                  ShapeString(g.sizes()), ", X ", ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    const int64_t channels = shape.channels;
    const float* d_scale = BnParamsRowOf(Input(3), kBnParamsGradientRows, kDScaleRow, channels);
    const float* d_bias = BnParamsRowOf(Input(3), kBnParamsGradientRows, kDBiasRow, channels);
    std::copy_n(d_scale, channels, ChannelOutput(1, shape));
    std::copy_n(d_bias, channels, ChannelOutput(2, shape));
    const float* inverse_std = BnParamsRowOf(Input(1), kBnParamsRows, kInverseStdRow, channels);
    const float* factor = BnParamsRowOf(Input(1), kBnParamsRows, kFactorRow, channels);
    std::vector<float> by_x(channels), constant(channels);
    const auto per_element =
        static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(1, shape.PerChannel())));
    for (int64_t c = 0; c < channels; ++c) {
      by_x[c] = -factor[c] * inverse_std[c] * d_scale[c] * per_element;
      constant[c] = -factor[c] * d_bias[c] * per_element;
    }
    NormalizeGradient<T> in;
    in.x = x.data<T>();
    in.dy = g.data<T>();
    in.mean = BnParamsRowOf(Input(1), kBnParamsRows, kMeanRow, channels);
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    NormalizeInputGradient(shape, in, factor, by_x.data(), constant.data(), dx->mutable_data<T>());
    return true;
  }
};

std::vector<TensorShape> InferFinalize(const OperatorDef& /*def*/,
                                       const std::vector<TensorShape>& inputs) {
  TensorShape bn_params = UnknownTensorShape();
  const TensorShape& scale = inputs[3];
  if (!scale.unknown_shape() && scale.dims_size() == 1) {
    bn_params = CreateTensorShape({kBnParamsRows, scale.dims(0)}, TensorProto::FLOAT);
  }
  return {inputs[0], bn_params, inputs[5], inputs[6]};
}

std::vector<TensorShape> InferFinalizeGradient(const OperatorDef& def,
                                               const std::vector<TensorShape>& inputs) {
  TensorShape channel = UnknownTensorShape();
  if (!inputs[0].unknown_shape()) {
    const ImageShape x =
        ImageShape::FromDims(GetDimsVector(inputs[0]), ReadStorageOrder(ArgumentHelper(def)));
    channel = CreateTensorShape({x.channels}, TensorProto::FLOAT);
  }
  return {inputs[0], channel, channel};
}

constexpr char kNorm[] =
    "6 x C, float; rows mean, 1 / deviation, scale, bias, factor, shift: the normalized X is "
    "factor * X + shift.";

REGISTER_CPU_OPERATOR(SpatialBNFinalize, SpatialBNFinalizeOp);
OPERATOR_SCHEMA(SpatialBNFinalize)
    .NumInputs(7)
    .NumOutputs(4)
    .EnforceInplace({{0, 0}, {5, 2}, {6, 3}})
    .TensorInferenceFunction(InferFinalize)
    .Arg<float>("epsilon", "(>= 0, default 1e-5) As for SpatialBN.")
    .Arg<float>("momentum", "(from 0 to 1, default 0.9) As for SpatialBN.")
    .ArgOrder()
    .Arg<int>("is_test", "Must be 0.")
    .Input(0, "X", "The image to normalize, N x C x spatial (NCHW) or N x spatial x C (NHWC).")
    .Input(1, "sum", "Sum of every channel of X, C values, float (ConvStats).")
    .Input(2, "sumsq", "Sum of squares, likewise.")
    .Input(3, "scale", "Gamma: C values, float.")
    .Input(4, "bias", "Beta: C values, float.")
    .Input(5, "mean", "Running mean, updated in place.")
    .Input(6, "var", "Running variance, updated in place.")
    .Output(0, "X",
            "The blob of input X, unchanged. Its readers take bn_params, too, and normalize while "
            "they read. Its gradient is the gradient of the normalized X.")
    .Output(1, "bn_params", kNorm)
    .Output(2, "running_mean", "The blob of input mean.")
    .Output(3, "running_var", "The blob of input var.")
    .SetDoc("SpatialBN in training without the passes over X: computes bn_params from given sums.");

REGISTER_CPU_OPERATOR(SpatialBNFinalizeGradient, SpatialBNFinalizeGradientOp);
OPERATOR_SCHEMA(SpatialBNFinalizeGradient)
    .NumInputs(4)
    .NumOutputs(3)
    .AllowInplace({{2, 0}})
    .TensorInferenceFunction(InferFinalizeGradient)
    .Arg<float>("epsilon", "As in the forward operator.")
    .ArgOrder("As in the forward operator.")
    .Input(0, "X", "The forward operator's input.")
    .Input(1, "bn_params", kNorm)
    .Input(2, "g", "Gradient of the normalized X, in X's shape and type.")
    .Input(3, "d_bn_params",
           "2 x C, float: the gradients of scale and bias, which are sums over g.")
    .Output(0, "dX", "Gradient of X, in its shape and type.")
    .Output(1, "dscale", "Gradient of scale, C values.")
    .Output(2, "dbias", "Gradient of bias, C values.")
    .SetDoc("Gradient of SpatialBNFinalize: of batch normalization, with the sums given.");
NO_GRADIENT(SpatialBNFinalizeGradient);

class GetSpatialBNFinalizeGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return {CreateOperatorDef("SpatialBNFinalizeGradient", "", {O(0), O(1), GO(0), GO(1)},
                              {GI(0), GI(3), GI(4)})};
  }
};
REGISTER_GRADIENT(SpatialBNFinalize, GetSpatialBNFinalizeGradient);

}  // namespace
}  // namespace caffe2
