// Negative: Y = -X.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct NegativeFunction {
  static constexpr const char* kName = "Negative";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return -x;
  }
};

}  // namespace caffe2
