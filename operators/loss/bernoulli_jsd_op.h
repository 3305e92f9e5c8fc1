// BernoulliJSD: the Jensen-Shannon divergence of the Bernoulli distributions of two probabilities,
// element by element, with the gradient for the first.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Computed in double, because it subtracts nearly equal numbers.
struct BernoulliDivergence {
  static constexpr const char* kName = "BernoulliJSD";
  CAFFE2_HOST_DEVICE static double Log(double x) {
    return std::log(x < 1e-20 ? 1e-20 : x);  // of 0, too
  }
  CAFFE2_HOST_DEVICE static double Entropy(double p) { return -p * Log(p) - (1 - p) * Log(1 - p); }
  CAFFE2_HOST_DEVICE float operator()(float x, float t) const {
    const double p = x, q = t;
    return static_cast<float>(Entropy((p + q) / 2) - (Entropy(p) + Entropy(q)) / 2);
  }
  // dy log(p (1 - m) / (m (1 - p))) / 2, with m = (p + q) / 2
  CAFFE2_HOST_DEVICE float Gradient(float dy, float x, float t) const {
    const double p = x, m = (p + t) / 2;
    const double slope = Log(p) - Log(1 - p) - Log(m) + Log(1 - m);
    return static_cast<float>(dy * slope / 2);
  }
};

}  // namespace caffe2
