// Gradients of SpatialBN and of its fused forms on the CPU.
//
// With n elements a channel, g the gradient of the normalized values times scale, x' = (X - mean)
// / std: dbias = sum g, dscale = sum g x', and in training, where mean and std depend on X,
//   dX = scale / std * (g - dbias / n - x' * dscale / n).
#include <algorithm>

#include "operators/norm/spatial_bn_op.h"

namespace caffe2 {
namespace {

template <BatchNormEpilogue kEpilogue>
class SpatialBNGradientOp final : public SpatialBNOpBase<CPUContext> {
 public:
  SpatialBNGradientOp(const OperatorDef& def, Workspace* ws)
      : SpatialBNOpBase<CPUContext>(def, ws),
        multi_batch_(!is_test_ && kAt.sum_dscale >= 0 && InputSize() == 7) {
    CAFFE_ENFORCE(multi_batch_ || num_batches_ == 1, "num_batches is ", num_batches_,
                  ", but the sums over the batches are not given as inputs");
  }

  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const Tensor& dy = Input(kAt.dy);
    CAFFE_ENFORCE(dy.sizes() == x.sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    const float* scale = ChannelInput(kAt.scale, shape);
    for (auto* values : {&inverse_std_, &factor_, &by_x_, &constant_}) {
      values->resize(shape.channels);
    }
    const float* given = ChannelInput(kAt.inverse_std, shape);
    for (int64_t c = 0; c < shape.channels; ++c) {
      inverse_std_[c] = is_test_ ? InverseStd(given[c]) : given[c];
      factor_[c] = scale[c] * inverse_std_[c];
    }
    NormalizeGradient<T> in;
    in.x = x.data<T>();
    in.dy = dy.data<T>();
    in.mean = ChannelInput(kAt.mean, shape);
    T* dz = Mask(shape, &in);
    float* d_scale = ChannelOutput(1, shape);
    float* d_bias = ChannelOutput(2, shape);
    SumUp(shape, in, d_scale, d_bias, dz);
    if (kEpilogue == BatchNormEpilogue::kSumRelu) {
      in.dy = dz;
      in.mask = ReluMask::kNone;
    }
    InputFactors(shape, d_scale, d_bias);
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    NormalizeInputGradient(shape, in, factor_.data(), by_x_.data(), constant_.data(),
                           dx->template mutable_data<T>());
    return true;
  }

 private:
  static constexpr BatchNormGradientInputs kAt = kBatchNormGradientInputs<kEpilogue>;

  // Fills in where the Relu was open. Returns the output for the masked gradient, or null.
  template <typename T>
  T* Mask(const ChannelShape& shape, NormalizeGradient<T>* in) {
    if constexpr (kEpilogue == BatchNormEpilogue::kRelu) {
      in->mask = ReluMask::kFromX;
      in->scale = factor_.data();
      in->bias = ChannelInput(kAt.bias, shape);
    } else if constexpr (kEpilogue == BatchNormEpilogue::kSumRelu) {
      const Tensor& y = Input(kAt.y);
      CAFFE_ENFORCE(y.sizes() == Input(0).sizes(), "Y must have the shape of X: Y has shape ",
                    ShapeString(y.sizes()), ", X ", ShapeString(Input(0).sizes()));
      in->mask = ReluMask::kFromY;
      in->y = y.data<T>();
      Tensor* dz = Output(3);
      dz->ResizeLike(y);
      return dz->template mutable_data<T>();
    }
    return nullptr;
  }

  template <typename T>
  void SumUp(const ChannelShape& shape, const NormalizeGradient<T>& in, float* d_scale,
             float* d_bias, T* dz) {
    if (!multi_batch_) {
      ChannelGradientSums(shape, in, d_bias, d_scale, dz);
      for (int64_t c = 0; c < shape.channels; ++c) d_scale[c] *= inverse_std_[c];
      return;
    }
    // The sums over all batches are inputs. The outputs are this batch's share; the optimizer adds
    // the shares up.
    const float* sum_scale = ChannelInput(kAt.sum_dscale, shape);
    const float* sum_bias = ChannelInput(kAt.sum_dscale + 1, shape);
    if (shape.PerChannel() == 0) {  // as in Caffe2, the share of an empty batch is 0
      std::fill_n(d_scale, shape.channels, 0.f);
      std::fill_n(d_bias, shape.channels, 0.f);
      return;
    }
    for (int64_t c = 0; c < shape.channels; ++c) {
      d_scale[c] = sum_scale[c] / static_cast<float>(num_batches_);
      d_bias[c] = sum_bias[c] / static_cast<float>(num_batches_);
    }
  }

  // dX = factor * g + by_x * (X - mean) + constant.
  void InputFactors(const ChannelShape& shape, const float* d_scale, const float* d_bias) {
    std::fill(by_x_.begin(), by_x_.end(), 0.f);
    std::fill(constant_.begin(), constant_.end(), 0.f);
    if (is_test_ || shape.PerChannel() == 0) return;  // mean and deviation are constants
    const auto per_element = static_cast<float>(1.0 / static_cast<double>(shape.PerChannel()));
    for (int64_t c = 0; c < shape.channels; ++c) {
      by_x_[c] = -factor_[c] * inverse_std_[c] * d_scale[c] * per_element;
      constant_[c] = -factor_[c] * d_bias[c] * per_element;
    }
  }

  const bool multi_batch_;
  std::vector<float> inverse_std_, factor_, by_x_, constant_;
};

std::vector<TensorShape> InferSpatialBNGradient(const OperatorDef& def,
                                                const std::vector<TensorShape>& inputs) {
  const TensorShape& scale = inputs[1];
  std::vector<TensorShape> outputs = {inputs[0], scale, scale};
  if (def.output_size() == 4) outputs.push_back(inputs[0]);
  return outputs;
}

void DescribeGradient(OpSchema& schema) {
  schema.NumOutputs(3)
      .TensorInferenceFunction(InferSpatialBNGradient)
      .ArgIsTest("1: mean and var are the running ones, and constants to the gradient.")
      .Arg<float>("epsilon", "As in the forward operator.")
      .ArgOrder("As in the forward operator.")
      .Input(0, "X", "The forward operator's input.")
      .Input(1, "scale", "Gamma.")
      .Output(0, "dX", "Gradient of X, in its shape and type.")
      .Output(1, "dscale", "Gradient of scale, C values.")
      .Output(2, "dbias", "Gradient of bias, C values.");
}
constexpr char kDY[] = "Gradient of Y, in its shape and type.";
constexpr char kMean[] = "saved_mean of the forward operator; with is_test its input mean.";
constexpr char kStd[] = "saved_inv_std of the forward operator; with is_test its input var.";

using SpatialBNGradient = SpatialBNGradientOp<BatchNormEpilogue::kNone>;
using SpatialBNReluGradient = SpatialBNGradientOp<BatchNormEpilogue::kRelu>;
using SpatialBNSumReluGradient = SpatialBNGradientOp<BatchNormEpilogue::kSumRelu>;

REGISTER_CPU_OPERATOR(SpatialBNGradient, SpatialBNGradient);
OPERATOR_SCHEMA(SpatialBNGradient)
    .NumInputs({5, 7})
    .AllowInplace({{2, 0}, {5, 1}, {6, 2}})
    .FillUsing(DescribeGradient)
    .Arg<int>("num_batches", "As in the forward operator.")
    .Input(2, "dY", kDY)
    .Input(3, "mean", kMean)
    .Input(4, "inv_std", kStd)
    .Input(5, "sum_dscale",
           "Sum of dscale over num_batches batches (ChannelBackpropStats); "
           "optional.")
    .Input(6, "sum_dbias", "Sum of dbias, likewise.")
    .SetDoc("Gradient of SpatialBN.");
NO_GRADIENT(SpatialBNGradient);

REGISTER_CPU_OPERATOR(SpatialBNReluGradient, SpatialBNReluGradient);
OPERATOR_SCHEMA(SpatialBNReluGradient)
    .NumInputs(6)
    .AllowInplace({{3, 0}})
    .FillUsing(DescribeGradient)
    .Input(2, "bias", "Beta.")
    .Input(3, "dY", kDY)
    .Input(4, "mean", kMean)
    .Input(5, "inv_std", kStd)
    .SetDoc("Gradient of SpatialBNRelu.");
NO_GRADIENT(SpatialBNReluGradient);

REGISTER_CPU_OPERATOR(SpatialBNSumReluGradient, SpatialBNSumReluGradient);
OPERATOR_SCHEMA(SpatialBNSumReluGradient)
    .NumInputs(6)
    .FillUsing(DescribeGradient)
    .NumOutputs(4)
    .AllowInplace({{3, 0}, {3, 3}})
    .Input(2, "Y", "The forward operator's output.")
    .Input(3, "dY", kDY)
    .Input(4, "mean", kMean)
    .Input(5, "inv_std", kStd)
    .Output(3, "dZ", "Gradient of Z: dY where Y is above zero.")
    .SetDoc("Gradient of SpatialBNSumRelu.");
NO_GRADIENT(SpatialBNSumReluGradient);

class GetSpatialBNGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const bool is_test = ArgumentHelper(Def()).GetSingleArgument<bool>("is_test", false);
    std::vector<std::string> inputs = {I(0), I(1)};
    if (Def().type() == "SpatialBNRelu") inputs.push_back(I(2));
    if (Def().type() == "SpatialBNSumRelu") inputs.push_back(O(0));
    inputs.push_back(GO(0));
    inputs.push_back(is_test ? I(3) : O(3));
    inputs.push_back(is_test ? I(4) : O(4));
    // With sums over several batches, the blobs of the sums hold the sums of the gradient when the
    // gradient runs. The fused forms take sums of their own batch only.
    const bool own_sums = ArgumentHelper(Def()).GetSingleArgument<bool>("own_sums", false);
    if (Def().type() == "SpatialBN" && Def().input_size() == 7 && !is_test && !own_sums) {
      inputs.push_back(I(5));
      inputs.push_back(I(6));
    }
    std::vector<std::string> outputs = {GI(0), GI(1), GI(2)};
    if (Def().type() == "SpatialBNSumRelu") outputs.push_back(GI(5));
    return SingleGradientDef(Def().type() + "Gradient", "", inputs, outputs);
  }
};
REGISTER_GRADIENT(SpatialBN, GetSpatialBNGradient);
REGISTER_GRADIENT(SpatialBNRelu, GetSpatialBNGradient);
REGISTER_GRADIENT(SpatialBNSumRelu, GetSpatialBNGradient);

}  // namespace
}  // namespace caffe2
