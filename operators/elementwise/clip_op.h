// Clip: Y = min(max(X, low), high), with the gradient from Y. NaN stays NaN.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ClipFunction {
  static constexpr const char* kName = "Clip";
  // Arguments min and max. Throws EnforceNotMet if min is larger.
  explicit ClipFunction(const OperatorBase& op);
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    const N raised = x < low ? static_cast<N>(low) : x;
    return raised > high ? static_cast<N>(high) : raised;
  }
  // The gradient is 0 where Y is a bound.
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N y, N dy) const {
    return (y > low) & (y < high) ? dy : N(0);
  }
  float low, high;
};

}  // namespace caffe2
