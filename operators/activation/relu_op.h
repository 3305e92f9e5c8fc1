// Relu: Y = max(X, 0), with the gradient from Y. A NaN stays.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ReluFunction {
  static constexpr const char* kName = "Relu";
  static constexpr bool kTakesBits = true;
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x < 0 ? N(0) : x;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N y, N dy) const {
    return y > 0 ? dy : N(0);
  }

  template <typename T>
  CAFFE2_HOST_DEVICE_INLINE host_device::SignedBits<T> operator()(
      host_device::SignedBits<T> x) const {
    const bool negative = x.value <= host_device::SignedBits<T>::kNegativeInfinity;
    return {negative ? int16_t{0} : x.value};
  }
  template <typename T>
  CAFFE2_HOST_DEVICE_INLINE host_device::SignedBits<T> Gradient(
      host_device::SignedBits<T> y, host_device::SignedBits<T> dy) const {
    const bool positive = y.value > 0 && y.value <= host_device::SignedBits<T>::kInfinity;
    return {positive ? dy.value : int16_t{0}};
  }
};

}  // namespace caffe2
