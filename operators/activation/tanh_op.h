// Tanh: the hyperbolic tangent, with the gradient from Y.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct TanhFunction {
  static constexpr const char* kName = "Tanh";
  static constexpr bool kNarrowsApart = true;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Tanh(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const { return dy * (1.f - y * y); }
};

}  // namespace caffe2
