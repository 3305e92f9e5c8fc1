// Cube: Y = X^3, with the gradient from X.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct CubeFunction {
  static constexpr const char* kName = "Cube";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return x * x * x; }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const { return 3 * dy * x * x; }
};

}  // namespace caffe2
