#include "db/image_jitter.h"

#include <algorithm>
#include <array>

#include "caffe2/core/logging.h"

namespace caffe2::db {
namespace {

enum Change { kSaturation, kBrightness, kContrast };

float Gray(const float* bgr) { return 0.114f * bgr[0] + 0.587f * bgr[1] + 0.299f * bgr[2]; }

float Factor(float amount, RandomGenerator* random) {
  return 1.f + amount * (2.f * random->Uniform() - 1.f);
}

// pixel = factor * pixel + (1 - factor) * base
void Blend(float factor, float base, float* bgr) {
  for (int c = 0; c < 3; ++c) bgr[c] = factor * bgr[c] + (1.f - factor) * base;
}

}  // namespace

void ColorJitter(float saturation, float brightness, float contrast, RandomGenerator* random,
                 int64_t area, float* pixels) {
  std::array<Change, 3> order = {kSaturation, kBrightness, kContrast};
  for (uint64_t i = 2; i > 0; --i) std::swap(order[i], order[random->UniformInt(i + 1)]);
  for (const Change change : order) {
    const float amount = change == kSaturation   ? saturation
                         : change == kBrightness ? brightness
                                                 : contrast;
    const float factor = Factor(amount, random);
    float mean = 0.f;
    if (change == kContrast) {
      double sum = 0.;
      for (int64_t i = 0; i < area; ++i) sum += Gray(pixels + 3 * i);
      mean = static_cast<float>(sum / static_cast<double>(area));
    }
    for (int64_t i = 0; i < area; ++i) {
      float* bgr = pixels + 3 * i;
      Blend(factor, change == kSaturation ? Gray(bgr) : mean, bgr);
    }
  }
}

void ColorLighting(float std, const std::vector<float>& eigvecs, const std::vector<float>& eigvals,
                   RandomGenerator* random, int64_t area, float* pixels) {
  // Of the colours of ImageNet, times 255.
  static const std::vector<float> kEigvecs = {-144.7125f, 183.396f,  102.2295f, -148.104f, -1.1475f,
                                              -207.57f,   -148.818f, -177.174f, 107.1765f};
  static const std::vector<float> kEigvals = {0.2175f, 0.0188f, 0.0045f};
  const std::vector<float>& vectors = eigvecs.empty() ? kEigvecs : eigvecs;
  const std::vector<float>& values = eigvals.empty() ? kEigvals : eigvals;
  CAFFE_ENFORCE(vectors.size() == 9 && values.size() == 3, "color_lighting_eigvecs of ",
                vectors.size(), " and color_lighting_eigvals of ", values.size(),
                " values where 9 and 3 are needed");
  float delta[3] = {};  // red, green, blue
  for (int k = 0; k < 3; ++k) {
    const float alpha = std * random->Normal() * values[k];
    for (int c = 0; c < 3; ++c) delta[c] += vectors[3 * c + k] * alpha;
  }
  for (int64_t i = 0; i < area; ++i) {
    for (int c = 0; c < 3; ++c) pixels[3 * i + c] += delta[2 - c];
  }
}

}  // namespace caffe2::db
