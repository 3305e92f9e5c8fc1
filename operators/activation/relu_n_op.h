// ReluN: Y = max(0, min(n, X)), with the gradient from Y. A NaN stays.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ReluNFunction {
  static constexpr const char* kName = "ReluN";
  explicit ReluNFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    return x > limit ? limit : x < 0 ? 0.f : x;
  }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    return (y > 0) & (y < limit) ? dy : 0.f;
  }
  float limit;
};

}  // namespace caffe2
