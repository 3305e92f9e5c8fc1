// Sinh and Cosh, with gradients from X; Tanh is an activation.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct SinhFunction {
  static constexpr const char* kName = "Sinh";
  static constexpr bool kNarrowsApart = true;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return std::sinh(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const { return dy * std::cosh(x); }
};

struct CoshFunction {
  static constexpr const char* kName = "Cosh";
  static constexpr bool kNarrowsApart = true;
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return std::cosh(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const { return dy * std::sinh(x); }
};

}  // namespace caffe2
