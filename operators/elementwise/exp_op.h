// Exp: Y = e^X.
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2 {

struct ExpFunction {
  static constexpr const char* kName = "Exp";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return host_device::Exp(x);
  }
};

}  // namespace caffe2
