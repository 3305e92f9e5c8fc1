// Sums over the channels of an image, for batch normalization over several batches.
#include "caffe2/core/operator.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {
namespace {

// X -> sum, sumsq.
class ChannelStatsOp final : public Operator<CPUContext> {
 public:
  ChannelStatsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    for (int i = 0; i < 2; ++i) Output(i)->Resize(shape.channels);
    // The sums of g and g * (x - mean) with g = x and mean = 0.
    zeros_.assign(shape.channels, 0.f);
    NormalizeGradient<T> in;
    in.x = in.dy = x.data<T>();
    in.mean = zeros_.data();
    ChannelGradientSums<T>(shape, in, Output(0)->template mutable_data<float>(),
                           Output(1)->template mutable_data<float>(), nullptr);
    return true;
  }

 private:
  const StorageOrder order_;
  std::vector<float> zeros_;
};

// X, mean, inv_std, dY -> sum of dY * (X - mean) * inv_std, sum of dY.
class ChannelBackpropStatsOp final : public Operator<CPUContext> {
 public:
  ChannelBackpropStatsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const Tensor& dy = Input(3);
    CAFFE_ENFORCE(dy.sizes() == x.sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    for (int i : {1, 2}) {
      CAFFE_ENFORCE(Input(i).numel() == shape.channels, "input ", i, " (", debug_def().input(i),
                    ") must have one value for each of the ", shape.channels, " channels, found ",
                    Input(i).numel());
    }
    for (int i = 0; i < 2; ++i) Output(i)->Resize(shape.channels);
    NormalizeGradient<T> in;
    in.x = x.data<T>();
    in.dy = dy.data<T>();
    in.mean = Input(1).data<float>();
    float* d_scale = Output(0)->template mutable_data<float>();
    ChannelGradientSums<T>(shape, in, Output(1)->template mutable_data<float>(), d_scale, nullptr);
    const float* inverse_std = Input(2).data<float>();
    for (int64_t c = 0; c < shape.channels; ++c) d_scale[c] *= inverse_std[c];
    return true;
  }

 private:
  const StorageOrder order_;
};

std::vector<TensorShape> InferPerChannel(const OperatorDef& def,
                                         const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape(), UnknownTensorShape()};
  const ImageShape x =
      ImageShape::FromDims(GetDimsVector(inputs[0]), ReadStorageOrder(ArgumentHelper(def)));
  return std::vector<TensorShape>(2, CreateTensorShape({x.channels}, TensorProto::FLOAT));
}

constexpr char kX[] =
    "N x C x spatial (NCHW) or N x spatial x C (NHWC), float or bfloat16, on CUDA devices also "
    "float16; also N x C alone.";

REGISTER_CPU_OPERATOR(ChannelStats, ChannelStatsOp);
OPERATOR_SCHEMA(ChannelStats)
    .NumInputs(1)
    .NumOutputs(2)
    .TensorInferenceFunction(InferPerChannel)
    .ArgOrder()
    .Input(0, "X", kX)
    .Output(0, "sum", "Sum of every channel over batch and space, C values, float.")
    .Output(1, "sumsq", "Sum of squares, likewise.")
    .SetDoc(
        "The sums that SpatialBN takes as inputs to normalize over several batches (num_batches).");
SHOULD_NOT_DO_GRADIENT(ChannelStats);

REGISTER_CPU_OPERATOR(ChannelBackpropStats, ChannelBackpropStatsOp);
OPERATOR_SCHEMA(ChannelBackpropStats)
    .NumInputs(4)
    .NumOutputs(2)
    .TensorInferenceFunction(InferPerChannel)
    .ArgOrder()
    .Input(0, "X", kX)
    .Input(1, "mean", "saved_mean of SpatialBN, C values.")
    .Input(2, "inv_std", "saved_inv_std of SpatialBN, C values.")
    .Input(3, "dY", "Gradient of SpatialBN's Y, in its shape and type.")
    .Output(0, "dscale", "This batch's part of the gradient of scale, C values, float.")
    .Output(1, "dbias", "This batch's part of the gradient of bias, C values, float.")
    .SetDoc(
        "The sums that SpatialBNGradient takes as inputs to normalize over several batches "
        "(num_batches).");
SHOULD_NOT_DO_GRADIENT(ChannelBackpropStats);

}  // namespace
}  // namespace caffe2
