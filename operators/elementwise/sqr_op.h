// Sqr: Y = X^2.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct SqrFunction {
  static constexpr const char* kName = "Sqr";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x * x;
  }
};

}  // namespace caffe2
