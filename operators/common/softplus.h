// log(1 + e^x) for functors of the host and of devices (host_device.h).
#pragma once

#include "operators/common/host_device_math.h"

namespace caffe2::host_device {

// log(1 + e^x). The logarithm and the exponential are computed as N, the sum as Wide. Adds max(x,
// 0) separately, so that nothing overflows.
template <typename Wide, typename N>
CAFFE2_HOST_DEVICE_INLINE Wide WideSoftplus(N x) {
  return Wide(x > 0 ? x : N(0)) + Log1p(Exp(-std::fabs(x)));
}
template <typename N>
CAFFE2_HOST_DEVICE_INLINE N Softplus(N x) {
  return WideSoftplus<N>(x);
}

}  // namespace caffe2::host_device
