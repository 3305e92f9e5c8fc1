// Softplus: Y = log(1 + e^X), with the gradient from Y.
#pragma once

#include "operators/common/softplus.h"

namespace caffe2 {

struct SoftplusFunction {
  static constexpr const char* kName = "Softplus";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Softplus(x); }
  // 1 - e^-y without the loss of digits near 0.
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    return -dy * host_device::Expm1(-y);
  }
};

}  // namespace caffe2
