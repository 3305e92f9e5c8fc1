// Abs: Y = |X|, with the gradient from X.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct AbsFunction {
  static constexpr const char* kName = "Abs";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x < N(0) ? -x : x;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N x, N dy) const {
    const N slope = x > N(0) ? dy : -dy;
    return x == N(0) ? N(0) : slope;
  }
};

}  // namespace caffe2
