// Sigmoid: Y = 1 / (1 + e^-X), with the gradient from Y.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct SigmoidFunction {
  static constexpr const char* kName = "Sigmoid";
  static constexpr bool kNarrowsApart = true;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Sigmoid(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const { return dy * y * (1.f - y); }
};

}  // namespace caffe2
