// HardSigmoid: Y = max(0, min(1, alpha X + beta)), with the gradient from Y. A NaN stays.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct HardSigmoidFunction {
  static constexpr const char* kName = "HardSigmoid";
  explicit HardSigmoidFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    const float line = alpha * x + beta;
    return line > 1 ? 1.f : line < 0 ? 0.f : line;
  }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    const float slope = dy * alpha;
    return (y > 0) & (y < 1) ? slope : 0.f;
  }
  float alpha, beta;
};

}  // namespace caffe2
