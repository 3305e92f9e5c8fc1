// Selu: a scaled Elu that keeps activations near mean 0 and variance 1, with the gradient from Y.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct SeluFunction {
  static constexpr const char* kName = "Selu";
  static constexpr bool kNarrowsApart = true;
  explicit SeluFunction(const OperatorBase& op);
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    const float curve = alpha * host_device::Expm1(x);
    return scale * (x > 0 ? x : curve);
  }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    const float slope = y + scale * alpha;
    return dy * (y > 0 ? scale : slope);
  }
  float alpha, scale;
};

}  // namespace caffe2
