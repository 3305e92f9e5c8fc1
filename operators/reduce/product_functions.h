// Products and functions of their sums, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

struct Product {
  static constexpr const char* kName = "Product";
  CAFFE2_HOST_DEVICE float operator()(float a, float b) const { return a * b; }
};
// x times a weight in host or device memory.
struct TimesRate {
  static constexpr const char* kName = "WeightedSumGradient";
  Rate weight;
  CAFFE2_HOST_DEVICE float operator()(float x) const { return weight() * x; }
};

// A gradient step on the learning rate, from the sums of grad * effgrad, grad^2 and effgrad^2.
struct AdaptRate {
  static constexpr const char* kName = "LearningRateAdaption";
  float alpha;
  bool normalized;
  const float *lr, *sums;
  float* lr_out;
  CAFFE2_HOST_DEVICE void operator()(int64_t /*i*/) const {
    constexpr float kMinNorm = 1e-12f;
    const float rate = *lr, a = std::sqrt(sums[1]), b = std::sqrt(sums[2]);
    float change = alpha * sums[0];
    if (normalized)
      change *= rate / ((a > kMinNorm ? a : kMinNorm) * (b > kMinNorm ? b : kMinNorm));
    *lr_out = rate - change;
  }
};

}  // namespace caffe2
