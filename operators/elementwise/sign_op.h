// Sign: Y = -1, 0 or 1.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct SignFunction {
  static constexpr const char* kName = "Sign";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return static_cast<N>((x > N(0)) - (x < N(0)));
  }
};

}  // namespace caffe2
