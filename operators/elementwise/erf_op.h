// Erf: the error function, with the gradient from X.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct ErfFunction {
  static constexpr const char* kName = "Erf";
  static constexpr float kTwoOverRootPi = 1.1283791671f;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Erf(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    return dy * kTwoOverRootPi * host_device::Exp(-x * x);
  }
};

}  // namespace caffe2
