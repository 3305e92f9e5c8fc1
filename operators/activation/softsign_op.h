// Softsign: Y = X / (1 + |X|), with the gradient from X.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct SoftsignFunction {
  static constexpr const char* kName = "Softsign";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return x / (1 + std::fabs(x)); }
  CAFFE2_HOST_DEVICE_INLINE float Gradient(float x, float dy) const {
    const float divisor = 1 + std::fabs(x);
    return dy / (divisor * divisor);
  }
};

}  // namespace caffe2
