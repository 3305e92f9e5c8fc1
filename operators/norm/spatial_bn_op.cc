// SpatialBN and its fused forms on the CPU.
#include "operators/norm/spatial_bn_op.h"

#include <algorithm>

namespace caffe2 {
namespace {

template <BatchNormEpilogue kEpilogue>
class SpatialBNOp final : public SpatialBNForwardBase<CPUContext> {
 public:
  SpatialBNOp(const OperatorDef& def, Workspace* ws)
      : SpatialBNForwardBase<CPUContext>(def, ws, kEpilogue) {}

  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const ChannelShape shape = ChannelShapeOf(x.sizes(), order_);
    const float* scale = ChannelInput(1, shape);
    const float* bias = ChannelInput(2, shape);
    const float* mean = ChannelInput(3, shape);
    const float* variance = ChannelInput(4, shape);
    const T* z = Addend<T>(x);
    factor_.resize(shape.channels);
    if (is_test_) {
      for (int64_t c = 0; c < shape.channels; ++c) factor_[c] = scale[c] * InverseStd(variance[c]);
    } else {
      float* inverse_std = ComputeStatistics<T>(shape, x);
      mean = Output(3)->template data<float>();
      for (int64_t c = 0; c < shape.channels; ++c) factor_[c] = scale[c] * inverse_std[c];
    }
    Tensor* y = Output(0);
    y->ResizeLike(x);
    NormalizeChannels(shape, x.data<T>(), mean, factor_.data(), bias, z,
                      kEpilogue != BatchNormEpilogue::kNone, y->template mutable_data<T>());
    return true;
  }

 private:
  // Fills the saved statistics and moves the running ones. Returns 1 / standard deviation.
  template <typename T>
  float* ComputeStatistics(const ChannelShape& shape, const Tensor& x) {
    const int64_t channels = shape.channels;
    const double count = static_cast<double>(shape.PerChannel()) * num_batches_;
    float* saved_mean = ChannelOutput(3, shape);
    float* saved = ChannelOutput(4, shape);  // variance first, then turned into 1 / deviation
    float* running_mean = ChannelOutput(1, shape);
    float* running_variance = ChannelOutput(2, shape);
    if (count == 0) {  // an empty batch has no statistics
      std::fill_n(saved_mean, channels, 0.f);
      std::fill_n(saved, channels, 0.f);
      return saved;
    }
    if (sums_are_given_) {
      const float* sums = ChannelInput(sums_, shape);
      const float* squares = ChannelInput(sums_ + 1, shape);
      for (int64_t c = 0; c < channels; ++c) {
        const double mean = sums[c] / count;
        saved_mean[c] = static_cast<float>(mean);
        saved[c] = static_cast<float>(std::max(0.0, squares[c] / count - mean * mean));
      }
    } else {
      ChannelMoments(shape, x.data<T>(), saved_mean, saved);
    }
    // The running variance estimates the variance of the population.
    const auto unbiased = static_cast<float>(count / std::max(1.0, count - 1));
    for (int64_t c = 0; c < channels; ++c) {
      running_mean[c] = momentum_ * running_mean[c] + (1 - momentum_) * saved_mean[c];
      running_variance[c] = momentum_ * running_variance[c] + (1 - momentum_) * unbiased * saved[c];
      saved[c] = InverseStd(saved[c]);
    }
    return saved;
  }

  std::vector<float> factor_;  // scale / standard deviation
};

std::vector<TensorShape> InferSpatialBN(const OperatorDef& def,
                                        const std::vector<TensorShape>& inputs) {
  std::vector<TensorShape> outputs = {inputs[0]};
  if (def.output_size() == 1) return outputs;
  TensorShape per_channel = UnknownTensorShape();
  if (!inputs[0].unknown_shape()) {
    const ImageShape x =
        ImageShape::FromDims(GetDimsVector(inputs[0]), ReadStorageOrder(ArgumentHelper(def)));
    per_channel = CreateTensorShape({x.channels}, TensorProto::FLOAT);
  }
  outputs.resize(5, per_channel);
  return outputs;
}

void DescribeSpatialBN(OpSchema& schema) {
  schema.NumOutputs({1, 5})
      .EnforceInplace({{3, 1}, {4, 2}})
      .TensorInferenceFunction(InferSpatialBN)
      .ArgIsTest("1: normalize by the running mean and variance; Y is the only output. Default 0.")
      .Arg<float>("epsilon", "(>= 0, default 1e-5) Added to the variance before the square root.")
      .Arg<float>(
          "momentum",
          "(from 0 to 1, default 0.9) Running values become momentum * old + (1 - momentum) * the "
          "batch's.")
      .ArgOrder()
      .Input(0, "X",
             "N x C x spatial (NCHW) or N x spatial x C (NHWC), float or bfloat16, on CUDA devices "
             "also float16; also N x C alone.")
      .Input(1, "scale", "Gamma: C values, float.")
      .Input(2, "bias", "Beta: C values, float.")
      .Input(3, "mean", "Running mean, C values, float; updated in place in training.")
      .Input(4, "var",
             "Running variance (unbiased: n / (n - 1) times the batch's), C values, float; updated "
             "in place in training.")
      .Output(0, "Y", "X's shape and type.")
      .Output(1, "running_mean", "Training only: the blob of input mean.")
      .Output(2, "running_var", "Training only: the blob of input var.")
      .Output(3, "saved_mean", "Training only: the batch's mean, for the gradient.")
      .Output(4, "saved_inv_std",
              "Training only: 1 / sqrt(the batch's variance + epsilon), for "
              "the gradient.");
}

constexpr char kDoc[] =
    "Batch normalization of every channel over batch and space: Y = scale * (X - mean) / "
    "sqrt(var + epsilon) + bias (Ioffe and Szegedy, arXiv:1502.03167). Semantics and blobs are "
    "Caffe2's.";

constexpr char kOwnSums[] =
    "Sum of every channel of X (ConvStats); optional, saves the pass over X that forms it.";
constexpr char kOwnSquares[] = "Sum of squares, likewise.";

using SpatialBN = SpatialBNOp<BatchNormEpilogue::kNone>;
using SpatialBNRelu = SpatialBNOp<BatchNormEpilogue::kRelu>;
using SpatialBNSumRelu = SpatialBNOp<BatchNormEpilogue::kSumRelu>;

REGISTER_CPU_OPERATOR(SpatialBN, SpatialBN);
OPERATOR_SCHEMA(SpatialBN)
    .NumInputs({5, 7})
    .AllowInplace({{0, 0}, {5, 3}, {6, 4}})
    .FillUsing(DescribeSpatialBN)
    .Arg<int>("num_batches",
              "(> 0, default 1) Number of batches, all of this size, over which the input sums are "
              "taken.")
    .Arg<bool>("own_sums",
               "1: the input sums are of this batch alone (ConvStats), and the gradient computes "
               "its own sums. Default 0: when the gradient runs, the blobs of the sums hold the "
               "sums of the gradient.")
    .Input(5, "sums", "Sum of every channel over all num_batches batches (ChannelStats); optional.")
    .Input(6, "sumsqs", "Sum of squares, likewise.")
    .SetDoc(kDoc);

REGISTER_CPU_OPERATOR(SpatialBNRelu, SpatialBNRelu);
OPERATOR_SCHEMA(SpatialBNRelu)
    .NumInputs({5, 7})
    .AllowInplace({{0, 0}})
    .FillUsing(DescribeSpatialBN)
    .Input(5, "sums", kOwnSums)
    .Input(6, "sumsqs", kOwnSquares)
    .SetDoc(
        "Y = max(0, SpatialBN(X)) in one pass over X and Y. Its gradient finds out from X where "
        "the Relu was open, so that Y need not be kept.");

REGISTER_CPU_OPERATOR(SpatialBNSumRelu, SpatialBNSumRelu);
OPERATOR_SCHEMA(SpatialBNSumRelu)
    .NumInputs({6, 8})
    .AllowInplace({{0, 0}, {5, 0}})
    .FillUsing(DescribeSpatialBN)
    .Input(5, "Z", "The tensor to add before the Relu, of X's shape and type.")
    .Input(6, "sums", kOwnSums)
    .Input(7, "sumsqs", kOwnSquares)
    .SetDoc("Y = max(0, SpatialBN(X) + Z), the end of a residual block, in one pass.");

}  // namespace
}  // namespace caffe2
