#include "db/image/color_jitter.h"

#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2::db {
namespace {

float Gray(const float* bgr) {
  return kGrayWeights[0] * bgr[0] + kGrayWeights[1] * bgr[1] + kGrayWeights[2] * bgr[2];
}

}  // namespace

void DrawColorJitter(float saturation, float brightness, float contrast, RandomGenerator* random,
                     SampledAugmentation* augmentation) {
  SampledAugmentation::Kind order[3] = {SampledAugmentation::kSaturation,
                                        SampledAugmentation::kBrightness,
                                        SampledAugmentation::kContrast};
  for (uint64_t i = 2; i > 0; --i) std::swap(order[i], order[random->UniformInt(i + 1)]);
  for (const SampledAugmentation::Kind kind : order) {
    const float amount = kind == SampledAugmentation::kSaturation   ? saturation
                         : kind == SampledAugmentation::kBrightness ? brightness
                                                                    : contrast;
    const float factor = 1.f + amount * (2.f * random->Uniform() - 1.f);
    augmentation->blend[augmentation->num_blends++] = {kind, factor};
  }
}

void DrawColorLighting(float std, const std::vector<float>& eigvecs,
                       const std::vector<float>& eigvals, RandomGenerator* random,
                       SampledAugmentation* augmentation) {
  // The components of ImageNet's colours. The eigenvectors are scaled by 255.
  static const std::vector<float> kEigvecs = {-144.7125f, 183.396f,  102.2295f, -148.104f, -1.1475f,
                                              -207.57f,   -148.818f, -177.174f, 107.1765f};
  static const std::vector<float> kEigvals = {0.2175f, 0.0188f, 0.0045f};
  const std::vector<float>& vectors = eigvecs.empty() ? kEigvecs : eigvecs;
  const std::vector<float>& values = eigvals.empty() ? kEigvals : eigvals;
  CAFFE_ENFORCE(vectors.size() == 9 && values.size() == 3,
                "arguments color_lighting_eigvecs and color_lighting_eigvals must have 9 and 3 "
                "values, found ",
                vectors.size(), " and ", values.size());
  for (int k = 0; k < 3; ++k) {
    const float alpha = std * random->Normal() * values[k];
    for (int c = 0; c < 3; ++c) augmentation->shift[2 - c] += vectors[3 * c + k] * alpha;
  }
}

void AugmentColors(const SampledAugmentation& augmentation, int64_t area, float* pixels) {
  for (int b = 0; b < augmentation.num_blends; ++b) {
    const auto [kind, factor] = augmentation.blend[b];
    float base = 0.f;
    if (kind == SampledAugmentation::kContrast) {
      double sum = 0.;
      for (int64_t i = 0; i < area; ++i) sum += Gray(pixels + 3 * i);
      base = static_cast<float>(sum / static_cast<double>(area));
    }
    for (int64_t i = 0; i < area; ++i) {
      float* bgr = pixels + 3 * i;
      const float other = kind == SampledAugmentation::kSaturation ? Gray(bgr) : base;
      for (int c = 0; c < 3; ++c) bgr[c] = factor * bgr[c] + (1.f - factor) * other;
    }
  }
  for (int64_t i = 0; i < area; ++i) {
    for (int c = 0; c < 3; ++c) pixels[3 * i + c] += augmentation.shift[c];
  }
}

}  // namespace caffe2::db
