// Pow, with one exponent as an argument, or an exponent for each element.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct PowFunction {
  static constexpr const char* kName = "Pow";
  explicit PowFunction(const OperatorBase& op);
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return exponent == 2.f ? x * x : std::pow(x, static_cast<N>(exponent));
  }
  float exponent;
};

struct PowOfTensorsFunction {
  static constexpr const char* kName = "Pow";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return std::pow(a, b);
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientA(N dc, N a, N b) const {
    return b == N(0) ? N(0) : dc * b * std::pow(a, b - N(1));
  }
  // For a = 0: the limit as a tends to 0.
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc, N a, N b) const {
    return a == N(0) && b >= N(0) ? N(0) : dc * std::pow(a, b) * std::log(a);
  }
};

}  // namespace caffe2
