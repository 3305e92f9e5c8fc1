// Sin, Cos, Tan, Asin, Acos and Atan, with gradients from X.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct SinFunction {
  static constexpr const char* kName = "Sin";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return std::sin(x);
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N x, N dy) const {
    return dy * std::cos(x);
  }
};

struct CosFunction {
  static constexpr const char* kName = "Cos";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return std::cos(x);
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N x, N dy) const {
    return -dy * std::sin(x);
  }
};

struct TanFunction {
  static constexpr const char* kName = "Tan";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return std::tan(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    return dy / (std::cos(x) * std::cos(x));
  }
};

struct AsinFunction {
  static constexpr const char* kName = "Asin";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return std::asin(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    return dy / std::sqrt(1 - x * x);
  }
};

struct AcosFunction {
  static constexpr const char* kName = "Acos";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return std::acos(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    return -dy / std::sqrt(1 - x * x);
  }
};

struct AtanFunction {
  static constexpr const char* kName = "Atan";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return host_device::Atan(x); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const { return dy / (1 + x * x); }
};

}  // namespace caffe2
