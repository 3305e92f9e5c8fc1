// Swish and Mish: Y = X g(X), with a gate g between 0 and 1 and the gradient from X and Y.
#pragma once

#include "operators/common/softplus.h"

namespace caffe2 {

// g = sigmoid(X)
struct SwishFunction {
  static constexpr const char* kName = "Swish";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x * host_device::Sigmoid(x);
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N x, N y, N dy) const {
    return dy * (y + host_device::Sigmoid(x) * (1 - y));
  }
};

// g = tanh(log(1 + exp(X)))
struct MishFunction {
  static constexpr const char* kName = "Mish";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x * Gate(x);
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N Gradient(N x, N /*y*/, N dy) const {
    const N gate = Gate(x);
    return dy * (gate + x * (1 - gate * gate) * host_device::Sigmoid(x));
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE static N Gate(N x) {
    return host_device::Tanh(host_device::Softplus(x));
  }
};

}  // namespace caffe2
