// LeakyRelu: Y = X where X > 0, else alpha X, with the gradient from Y.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct LeakyReluFunction {
  static constexpr const char* kName = "LeakyRelu";
  explicit LeakyReluFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    const float scaled = alpha * x;
    return x > 0 ? x : scaled;
  }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    const float scaled = alpha * dy;
    return y > 0 ? dy : scaled;
  }
  float alpha;
};

}  // namespace caffe2
