// The derivatives of functions of two numbers (binary_op.h), for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2::host_device {

// The derivatives by the first and by the second number: the terms of da and db, computed from dc
// and, if kReadsOperands, from a and b.
template <class F>
struct DerivativeA {
  static constexpr const char* kName = F::kName;
  static constexpr int kOperand = 0;
  static constexpr bool kReadsOperands = requires(F f, float v) { f.GradientA(v, v, v); };
  static constexpr bool kIsIdentity = !kReadsOperands && !requires(F f, float v) {
    f.GradientA(v);
  };
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N dc) const {
    if constexpr (kIsIdentity) {
      return dc;
    } else {
      return F().GradientA(dc);
    }
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N dc, N a, N b) const {
    return F().GradientA(dc, a, b);
  }
};
template <class F>
struct DerivativeB {
  static constexpr const char* kName = F::kName;
  static constexpr int kOperand = 1;
  static constexpr bool kReadsOperands = requires(F f, float v) { f.GradientB(v, v, v); };
  static constexpr bool kIsIdentity = !kReadsOperands && !requires(F f, float v) {
    f.GradientB(v);
  };
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N dc) const {
    if constexpr (kIsIdentity) {
      return dc;
    } else {
      return F().GradientB(dc);
    }
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N dc, N a, N b) const {
    return F().GradientB(dc, a, b);
  }
};

}  // namespace caffe2::host_device
