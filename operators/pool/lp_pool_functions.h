// The functions of LpPool before and after averaging, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// |x|^p
struct PowerOfElements {
  static constexpr const char* kName = "LpPoolPower";
  float p;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { y[i] = std::pow(std::fabs(x[i]), p); }
};
// y = (y * size)^(1 / p): the norm of windows of `size` elements from their average.
struct RootOfElements {
  static constexpr const char* kName = "LpPoolRoot";
  float p, size;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { y[i] = std::pow(y[i] * size, 1 / p); }
};
// dy y^(1 - p) * size, 0 where the norm y is 0.
struct GradientOfNorms {
  static constexpr const char* kName = "LpPoolNormGradient";
  float p, size;
  const float *y, *dy;
  float* gradient;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    gradient[i] = y[i] > 0 ? dy[i] * size * std::pow(y[i], 1 - p) : 0.f;
  }
};
// dx *= x |x|^(p - 2), 0 where x is 0.
struct GradientOfPowers {
  static constexpr const char* kName = "LpPoolGradient";
  float p;
  const float* x;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] *= x[i] == 0 ? 0.f : std::copysign(std::pow(std::fabs(x[i]), p - 1), x[i]);
  }
};

}  // namespace caffe2
