// Swish and Mish: Y = X g(X), with a gate g between 0 and 1 and the gradient from X and Y.
#pragma once

#include "operators/common/portable_math.h"

namespace caffe2 {

// g = s(X), s being the sigmoid.
struct SwishFunction {
  static constexpr const char* kName = "Swish";
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return x * portable::Sigmoid(x);
  }
  template <typename N>
  CAFFE2_PORTABLE_INLINE N Gradient(N x, N y, N dy) const {
    return dy * (y + portable::Sigmoid(x) * (1 - y));
  }
};

// g = tanh(log(1 + exp(X)))
struct MishFunction {
  static constexpr const char* kName = "Mish";
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return x * Gate(x);
  }
  template <typename N>
  CAFFE2_PORTABLE_INLINE N Gradient(N x, N /*y*/, N dy) const {
    const N gate = Gate(x);
    return dy * (gate + x * (1 - gate * gate) * portable::Sigmoid(x));
  }
  template <typename N>
  CAFFE2_PORTABLE_INLINE static N Gate(N x) {
    // log(1 + exp(x)) without overflow.
    const N positive = x < N(0) ? N(0) : x;
    return portable::Tanh(positive + portable::Log1p(portable::Exp(-std::abs(x))));
  }
};

}  // namespace caffe2
