// Logit: the inverse of the sigmoid, with the gradient from X.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct LogitFunction {
  static constexpr const char* kName = "Logit";
  explicit LogitFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    const float p = x < eps ? eps : x > 1 - eps ? 1 - eps : x;
    return host_device::Log(p / (1 - p));
  }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    const float slope = dy / (x * (1 - x));
    return (x >= eps) & (x <= 1 - eps) ? slope : 0.f;
  }
  float eps;
};

}  // namespace caffe2
