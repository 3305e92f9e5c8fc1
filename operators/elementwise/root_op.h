// Sqrt (X^1/2); Rsqrt (X^-1/2) and Cbrt (X^1/3), with gradients from Y.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct SqrtFunction {
  static constexpr const char* kName = "Sqrt";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return std::sqrt(x);
  }
};

struct RsqrtFunction {
  static constexpr const char* kName = "Rsqrt";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return 1 / std::sqrt(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const {
    return -0.5f * dy * y * y * y;
  }
};

struct CbrtFunction {
  static constexpr const char* kName = "Cbrt";
  static constexpr bool kNarrowsApart = true;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Cbrt(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const { return dy / (3 * y * y); }
};

}  // namespace caffe2
