// Relu: Y = max(X, 0), with the gradient from Y. A NaN stays.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ReluFunction {
  static constexpr const char* kName = "Relu";
  // Both 16-bit formats have their sign bit where int16_t has it.
  static constexpr bool kTakesBits = true;
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x < 0 ? N(0) : x;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N y, N dy) const {
    return y > 0 ? dy : N(0);
  }
};

}  // namespace caffe2
