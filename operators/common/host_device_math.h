// Mathematical functions for the functors of host_device.h. On devices, also emulated ones, they
// are CUDA's functions. On the host the float versions vectorize (caffe2/utils/vector_math.h).
// Results are within 2 units in the last place of float on the host and on devices. For other
// functions of <cmath>, functors call std.
#pragma once

#include "caffe2/utils/vector_math.h"
#include "operators/common/host_device.h"

namespace caffe2::host_device {

#ifdef __device__
template <typename N>
inline constexpr bool kVectorises = false;
#else
template <typename N>
inline constexpr bool kVectorises = std::is_same_v<N, float>;
#endif

template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Exp(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Exp(x);
  } else {
    return std::exp(x);
  }
}
// e^x - 1.
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Expm1(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Expm1(x);
  } else {
    return std::expm1(x);
  }
}
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Log(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Log(x);
  } else {
    return std::log(x);
  }
}
// log(1 + x).
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Log1p(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Log1p(x);
  } else {
    return std::log1p(x);
  }
}
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Erf(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Erf(x);
  } else {
    return std::erf(x);
  }
}
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Tanh(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Tanh(x);
  } else {
    return std::tanh(x);
  }
}
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Atan(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Atan(x);
  } else {
    return std::atan(x);
  }
}
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Cbrt(N x) {
  if constexpr (kVectorises<N>) {
    return caffe2::Cbrt(x);
  } else {
    return std::cbrt(x);
  }
}
// 1 / (1 + e^-x).
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Sigmoid(N x) {
  return 1 / (1 + Exp(-x));
}

}  // namespace caffe2::host_device
