// log(1 + e^x) for functors of the host and of devices (host_device.h).
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2::host_device {

// log(1 + e^x). Adds max(x, 0) separately, so that nothing overflows.
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Softplus(N x) {
  return (x > 0 ? x : N(0)) + Log1p(Exp(-std::fabs(x)));
}

}  // namespace caffe2::host_device
