// LpNorm, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/rate.h"

namespace caffe2 {

// The derivative of LpNorm: sign(x) for p = 1, 2 x for p = 2, times factor and gradient.
struct LpNormDerivative {
  static constexpr const char* kName = "LpNormGradient";
  int p = 2;
  float factor = 1;
  Rate gradient = {};
  template <typename N>
  CAFFE2_HOST_DEVICE N operator()(N x) const {
    const N slope = p == 1 ? static_cast<N>((x > 0) - (x < 0)) : 2 * x;
    return static_cast<N>(factor * gradient()) * slope;
  }
};

}  // namespace caffe2
