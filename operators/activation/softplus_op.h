// Softplus: Y = log(1 + e^X), with the gradient from Y.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct SoftplusFunction {
  static constexpr const char* kName = "Softplus";
  // Adds max(x, 0) separately, so that nothing overflows.
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const {
    return (x > 0 ? x : 0.f) + host_device::Log1p(host_device::Exp(-std::fabs(x)));
  }
  // 1 - e^-y without the loss of digits near 0.
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    return -dy * host_device::Expm1(-y);
  }
};

}  // namespace caffe2
