// Log, and Log1p: Y = log(1 + X), with the gradient from X.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct LogFunction {
  static constexpr const char* kName = "Log";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return host_device::Log(x);
  }
};

struct Log1pFunction {
  static constexpr const char* kName = "Log1p";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Log1p(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const { return dy / (1 + x); }
};

}  // namespace caffe2
