// The inputs and outputs of Caffe2's style transfer models: packed BGRA bytes outside, planes of
// float without alpha inside.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

constexpr int64_t kColors = 3, kPacked = 4;  // BGR, BGRA

// X, mean -> Y = X - mean + noise.
class StylizerPreprocessOp final : public Operator<CPUContext> {
 public:
  StylizerPreprocessOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        noise_std_(GetSingleArgument<float>("noise_std", 10.f)),
        noise_size_(GetSingleArgument<int>("noise_size", 491)) {
    CAFFE_ENFORCE(noise_std_ >= 0, "argument noise_std must not be negative, found ", noise_std_);
    CAFFE_ENFORCE(noise_size_ > 0, "argument noise_size must be positive, found ", noise_size_);
  }

  bool RunOnDevice() override {
    const Tensor &X = Input(0), &mean = Input(1);
    CAFFE_ENFORCE(X.dim() == 4 && X.size(3) == kPacked, "X must be N x H x W x 4, found shape ",
                  ShapeString(X.sizes()));
    CAFFE_ENFORCE(mean.numel() == kColors, "mean must have a value for each of B, G and R, found ",
                  mean.numel());
    const int64_t pixels = X.size(1) * X.size(2);
    Tensor* Y = Output(0);
    Y->Resize(X.size(0), kColors, X.size(1), X.size(2));
    DrawNoise();
    const uint8_t* x = X.data<uint8_t>();
    const float* m = mean.data<float>();
    float* y = Y->mutable_data<float>();
    for (int64_t n = 0; n < X.size(0); ++n) {
      for (int64_t i = 0; i < pixels; ++i) {
        for (int64_t c = 0; c < kColors; ++c) {
          y[(n * kColors + c) * pixels + i] =
              static_cast<float>(x[(n * pixels + i) * kPacked + c]) - m[c] +
              noise_[(i * kColors + c) % noise_size_];
        }
      }
    }
    return true;
  }

 private:
  // Draws the noise once, so that all pictures of a film get the same.
  void DrawNoise() {
    if (!noise_.empty()) return;
    noise_.resize(noise_size_);
    for (float& value : noise_) value = noise_std_ * context_.random().Normal();
  }

  const float noise_std_;
  const int noise_size_;
  std::vector<float> noise_;
};

// X, mean -> Y = X + mean.
class StylizerDeprocessOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

  bool RunOnDevice() override {
    const Tensor &X = Input(0), &mean = Input(1);
    CAFFE_ENFORCE(X.dim() == 4 && X.size(1) == kColors, "X must be N x 3 x H x W, found shape ",
                  ShapeString(X.sizes()));
    CAFFE_ENFORCE(mean.numel() == kColors, "mean must have a value for each of B, G and R, found ",
                  mean.numel());
    const int64_t pixels = X.size(2) * X.size(3);
    Tensor* Y = Output(0);
    Y->Resize(X.size(0), X.size(2), X.size(3), kPacked);
    const float *x = X.data<float>(), *m = mean.data<float>();
    uint8_t* y = Y->mutable_data<uint8_t>();
    for (int64_t n = 0; n < X.size(0); ++n) {
      for (int64_t i = 0; i < pixels; ++i) {
        uint8_t* pixel = y + (n * pixels + i) * kPacked;
        for (int64_t c = 0; c < kColors; ++c) {
          const float value = x[(n * kColors + c) * pixels + i] + m[c];
          pixel[c] = static_cast<uint8_t>(std::min(std::max(0.f, value), 255.f));  // NaN: 0
        }
        pixel[kColors] = 255;
      }
    }
    return true;
  }
};

std::vector<TensorShape> InferPlanes(const OperatorDef& /*def*/,
                                     const std::vector<TensorShape>& in) {
  if (in[0].unknown_shape() || in[0].dims_size() != 4) return {UnknownTensorShape()};
  return {CreateTensorShape({in[0].dims(0), kColors, in[0].dims(1), in[0].dims(2)},
                            TensorProto::FLOAT)};
}
std::vector<TensorShape> InferPacked(const OperatorDef& /*def*/,
                                     const std::vector<TensorShape>& in) {
  if (in[0].unknown_shape() || in[0].dims_size() != 4) return {UnknownTensorShape()};
  return {CreateTensorShape({in[0].dims(0), in[0].dims(2), in[0].dims(3), kPacked},
                            TensorProto::UINT8)};
}

constexpr char kMean[] = "Three float values: of B, G and R.";

REGISTER_CPU_OPERATOR(PackedInt8BGRANHWCToNCHWCStylizerPreprocess, StylizerPreprocessOp);
OPERATOR_SCHEMA(PackedInt8BGRANHWCToNCHWCStylizerPreprocess)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction(InferPlanes)
    .Arg<float>("noise_std", "(>= 0, default 10) Standard deviation of the noise; 0 for none.")
    .Arg<int>("noise_size", "(> 0, default 491) Number of noise values, which are repeated.")
    .Input(0, "X", "Pictures, N x H x W x 4 (BGRA), uint8.")
    .Input(1, "mean", kMean)
    .Output(0, "Y", "N x 3 x H x W, float: X - mean + noise.")
    .SetDoc(
        "Converts pictures for a style transfer model of Caffe2. The noise is drawn once, so that "
        "the pictures of a film stay alike.")
    .CpuOnly(cpu_only::kOnce);
NO_GRADIENT(PackedInt8BGRANHWCToNCHWCStylizerPreprocess);

REGISTER_CPU_OPERATOR(BRGNCHWCToPackedInt8BGRAStylizerDeprocess, StylizerDeprocessOp);
OPERATOR_SCHEMA(BRGNCHWCToPackedInt8BGRAStylizerDeprocess)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction(InferPacked)
    .Input(0, "X", "N x 3 x H x W, float.")
    .Input(1, "mean", kMean)
    .Output(0, "Y", "N x H x W x 4 (BGRA), uint8: X + mean, cut off at 0 and 255; opaque.")
    .SetDoc("Converts the output of a style transfer model of Caffe2 to pictures.")
    .CpuOnly(cpu_only::kOnce);
NO_GRADIENT(BRGNCHWCToPackedInt8BGRAStylizerDeprocess);

}  // namespace
}  // namespace caffe2
