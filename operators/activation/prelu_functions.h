// PRelu, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Takes x and the slope of its channel.
struct PReluFunction {
  static constexpr const char* kName = "PRelu";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x, float slope) const {
    const float scaled = slope * x;
    return x > 0 ? x : scaled;
  }
  CAFFE2_HOST_DEVICE_INLINE float GradientA(float dy, float x, float slope) const {
    const float scaled = slope * dy;
    return x > 0 ? dy : scaled;
  }
  CAFFE2_HOST_DEVICE_INLINE double GradientB(float dy, float x, float /*slope*/) const {
    return x > 0 ? 0.0 : static_cast<double>(dy) * x;
  }
};

}  // namespace caffe2
