// Gated activations, for the host and for devices (portable.h).
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

template <typename N>
CAFFE2_PORTABLE N LogisticOf(N x) {
  return 1 / (1 + std::exp(-x));
}

// Gates g between 0 and 1, of Y = X g(X); Slope(x, y) is dY / dX.

// g(x) = s(x): dX = dY (Y + s(X) (1 - Y))
struct SwishGate {
  static constexpr const char* kName = "Swish";
  template <typename N>
  CAFFE2_PORTABLE static N Value(N x) {
    return LogisticOf(x);
  }
  template <typename N>
  CAFFE2_PORTABLE static N Slope(N x, N y) {
    return y + LogisticOf(x) * (1 - y);
  }
};

// g(x) = tanh(log(1 + exp(x))): dX = dY (g + X (1 - g^2) s(X))
struct MishGate {
  static constexpr const char* kName = "Mish";
  template <typename N>
  CAFFE2_PORTABLE static N Value(N x) {
    // log(1 + exp(x)) without overflow.
    return std::tanh(std::max(x, N(0)) + std::log1p(std::exp(-std::abs(x))));
  }
  template <typename N>
  CAFFE2_PORTABLE static N Slope(N x, N /*y*/) {
    const N gate = Value(x);
    return gate + x * (1 - gate * gate) * LogisticOf(x);
  }
};

template <class Gate>
struct GatedValue {
  static constexpr const char* kName = Gate::kName;
  template <typename N>
  CAFFE2_PORTABLE N operator()(N x) const {
    return x * Gate::Value(x);
  }
};
template <class Gate>
struct GatedSlope {
  static constexpr const char* kName = Gate::kName;
  template <typename N>
  CAFFE2_PORTABLE N operator()(N x, N y, N dy) const {
    return dy * Gate::Slope(x, y);
  }
};

// Row i of Y is the first half of that of X times the logistic function of the second.
template <typename T>
struct GluRows {
  static constexpr const char* kName = "Glu";
  int64_t half;
  const T* x;
  T* y;
  template <class Team>
  CAFFE2_PORTABLE void operator()(int64_t row, Team team) const {
    const T *value = x + 2 * row * half, *gate = value + half;
    for (int64_t j = team.first(); j < half; j += team.step()) {
      y[row * half + j] =
          portable::Narrow<T>(portable::Widen(value[j]) * LogisticOf(portable::Widen(gate[j])));
    }
  }
};

}  // namespace caffe2
