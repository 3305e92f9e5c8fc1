// Reciprocal: Y = 1 / X, with the gradient from Y.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ReciprocalFunction {
  static constexpr const char* kName = "Reciprocal";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return 1 / x; }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const { return -dy * y * y; }
};

}  // namespace caffe2
