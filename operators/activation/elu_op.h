// Elu: Y = X where X > 0, else alpha (e^X - 1), with the gradient from Y.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct EluFunction {
  static constexpr const char* kName = "Elu";
  static constexpr bool kNarrowsApart = true;
  explicit EluFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    const float curve = alpha * host_device::Expm1(x);
    return x > 0 ? x : curve;
  }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    const float scaled = dy * (y + alpha);
    return y > 0 ? dy : scaled;
  }
  float alpha;
};

}  // namespace caffe2
