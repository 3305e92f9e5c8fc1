#include "operators/norm/instance_norm_op.h"

#include <algorithm>
#include <cmath>

#include "operators/norm/row_moments.h"

namespace caffe2 {
namespace {

float InverseDeviation(double variance, float epsilon) {
  return static_cast<float>(1 / std::sqrt(variance + epsilon));
}

}  // namespace

template <>
template <typename T>
bool InstanceNormOp<CPUContext>::DoRunWithType() {
  const Tensor &x = Input(0), &scale = Input(1), &bias = Input(2);
  const Layout l = GetLayout(x, scale, bias);
  const ChannelBlock all{l.channels, l.size, l.channel_stride, l.stride};
  const T* x_data = x.data<T>();
  const float *scale_data = scale.data<float>(), *bias_data = bias.data<float>();
  float* saved[2] = {nullptr, nullptr};  // mean, inv_stdev
  for (int i = 1; i < OutputSize(); ++i) {
    Output(i)->Resize(l.images, l.channels);
    saved[i - 1] = Output(i)->mutable_data<float>();
  }
  Tensor* y = Output(0);
  if (y != &x) y->ResizeLike(x);
  T* y_data = y->mutable_data<T>();
  ForEachChannelBlock(
      all, 1, l.images, l.images, [&](int64_t n, int64_t first, const ChannelBlock& block) {
        const int64_t at = n * l.channels * l.size + first * l.channel_stride;
        const std::vector<RowMoments> moments = MomentsOfChannels(block, x_data + at);
        std::vector<float> mean(block.count), inverse(block.count);
        for (int64_t c = 0; c < block.count; ++c) {
          mean[c] = static_cast<float>(moments[c].mean);
          inverse[c] = InverseDeviation(moments[c].variance, epsilon_);
        }
        const int64_t k = n * l.channels + first;
        if (saved[0] != nullptr) std::copy(mean.begin(), mean.end(), saved[0] + k);
        if (saved[1] != nullptr) std::copy(inverse.begin(), inverse.end(), saved[1] + k);
        NormalizeBlock(block, x_data + at, mean.data(), inverse.data(), scale_data + first,
                       bias_data + first, y_data + at);
      });
  return true;
}

// With z = (x - mean) / stdev over one channel of one image:
//   d_bias += sum dy,  d_scale += sum dy z
//   dx = scale / stdev * (dy - mean(dy) - z mean(dy z))
template <>
template <typename T>
bool InstanceNormGradientOp<CPUContext>::DoRunWithType() {
  const Tensor &x = Input(0), &scale = Input(1), &bias = Input(2), &dy = Input(3);
  const Layout l = GetLayout(x, scale, bias);
  const ChannelBlock all{l.channels, l.size, l.channel_stride, l.stride};
  CAFFE_ENFORCE(dy.numel() == x.numel(), "dY must have as many elements as X: dY has shape ",
                ShapeString(dy.sizes()), ", X ", ShapeString(x.sizes()));
  const float* saved[2] = {nullptr, nullptr};  // mean, inv_stdev
  for (int i = 4; i < InputSize(); ++i) {
    CAFFE_ENFORCE(Input(i).numel() == l.images * l.channels, "input ", i,
                  " must have one value for each image and channel, ", l.images * l.channels,
                  "; found ", Input(i).numel());
    saved[i - 4] = Input(i).data<float>();
  }
  const T *x_data = x.data<T>(), *dy_data = dy.data<T>();
  const float* scale_data = scale.data<float>();
  Tensor *dx = Output(0), *d_scale = Output(1), *d_bias = Output(2);
  dx->ResizeLike(x);
  d_scale->ResizeLike(scale);
  d_bias->ResizeLike(bias);
  T* dx_data = dx->mutable_data<T>();
  float *d_scale_data = d_scale->mutable_data<float>(),
        *d_bias_data = d_bias->mutable_data<float>();
  // A channel belongs to one thread, so that its sums do not depend on the threads.
  ForEachChannelBlock(all, 1, l.images, 1, [&](int64_t, int64_t first, const ChannelBlock& block) {
    const auto size = static_cast<double>(l.size);
    std::vector<NormGradientFactors> factors(block.count);
    std::vector<double> scale_sum(block.count), bias_sum(block.count);
    for (int64_t n = 0; n < l.images; ++n) {
      const int64_t at = n * l.channels * l.size + first * l.channel_stride;
      const int64_t k = n * l.channels + first;
      const std::vector<RowMoments> moments =
          saved[1] != nullptr ? std::vector<RowMoments>() : MomentsOfChannels(block, x_data + at);
      const std::vector<RowDots> dots = DotsOfChannels(block, dy_data + at, x_data + at);
      for (int64_t c = 0; c < block.count; ++c) {
        const float mean =
            saved[1] != nullptr ? saved[0][k + c] : static_cast<float>(moments[c].mean);
        const float inverse =
            saved[1] != nullptr ? saved[1][k + c] : InverseDeviation(moments[c].variance, epsilon_);
        const double product = (dots[c].dot - dots[c].sum * mean) * inverse;  // sum dy z
        bias_sum[c] += dots[c].sum;
        scale_sum[c] += product;
        factors[c] = {mean,
                      inverse,
                      1,
                      static_cast<float>(dots[c].sum / size),
                      static_cast<float>(product / size),
                      scale_data[first + c] * inverse};
      }
      NormalizeBlockGradient(block, x_data + at, dy_data + at, factors.data(), dx_data + at);
    }
    for (int64_t c = 0; c < block.count; ++c) {
      d_scale_data[first + c] = static_cast<float>(scale_sum[c]);
      d_bias_data[first + c] = static_cast<float>(bias_sum[c]);
    }
  });
  return true;
}

REGISTER_CPU_OPERATOR(InstanceNorm, InstanceNormOp<CPUContext>);
REGISTER_CPU_OPERATOR(InstanceNormGradient, InstanceNormGradientOp<CPUContext>);

OPERATOR_SCHEMA(InstanceNorm)
    .NumInputs(3)
    .NumOutputs(1, 3)
    .AllowInplace({{0, 0}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const auto order = ArgumentHelper(def).GetSingleArgument<std::string>("order", "NCHW");
      CAFFE_ENFORCE(in[0].dims_size() >= 3, "X must have at least three axes, found ",
                    in[0].dims_size());
      const int64_t channels = in[0].dims(order == "NCHW" ? 1 : in[0].dims_size() - 1);
      std::vector<TensorShape> out{in[0]};
      out.resize(def.output_size(),
                 CreateTensorShape({in[0].dims(0), channels}, TensorProto::FLOAT));
      return out;
    })
    .SetDoc(
        "Instance normalization (Ulyanov et al., 2016): Y = scale * (X - mean) * inv_stdev + "
        "bias, where mean and inv_stdev = 1 / sqrt(variance + epsilon) are computed over the "
        "element's channel in its image.")
    .Arg<float>("epsilon", "(>= 0, default 1e-5) Added to the variance.")
    .ArgOrder()
    .Input(0, "X",
           "A float or bfloat16 tensor, on CUDA devices also float16, of at least three axes.")
    .Input(1, "scale", "C floats.")
    .Input(2, "bias", "C floats.")
    .Output(0, "Y", "The result, shaped like X; may overwrite X if no gradient is needed.")
    .Output(1, "mean", "Optional: the means, float, [N, C].")
    .Output(2, "inv_stdev", "Optional: 1 / sqrt(variance + epsilon), float, [N, C].");
OPERATOR_SCHEMA(InstanceNormGradient)
    .NumInputs(4, 6)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1], in[2]};
    })
    .SetDoc(
        "The gradients of InstanceNorm. Mean and inv_stdev are computed again unless both are "
        "given.")
    .Arg<float>("epsilon", "As in InstanceNorm.")
    .ArgOrder("As in InstanceNorm.")
    .Input(0, "X", "As in InstanceNorm.")
    .Input(1, "scale", "As in InstanceNorm.")
    .Input(2, "bias", "As in InstanceNorm.")
    .Input(3, "dY", "The gradient of Y.")
    .Input(4, "mean", "Optional: the second output of InstanceNorm.")
    .Input(5, "inv_stdev", "Optional: its third output.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "d_scale", "The gradient of scale.")
    .Output(2, "d_bias", "The gradient of bias.");

class GetInstanceNormGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0), "the gradient of InstanceNorm needs its input ", I(0),
                  ", which the operator overwrites");
    std::vector<std::string> inputs{I(0), I(1), I(2), GO(0)};
    for (int i = 1; i < Def().output_size(); ++i) inputs.push_back(O(i));
    return SingleGradientDef("InstanceNormGradient", "", inputs, std::vector{GI(0), GI(1), GI(2)});
  }
};
REGISTER_GRADIENT(InstanceNorm, GetInstanceNormGradient);

}  // namespace caffe2
