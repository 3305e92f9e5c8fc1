// The derivatives of functions of two numbers (binary_op.h), for the host and for devices
// (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2::host_device {

// By the first number and by the second: what F::GradientA or F::GradientB takes, to what is added
// to da or db.
template <class F>
struct DerivativeA {
  static constexpr const char* kName = F::kName;
  static constexpr int kOperand = 0;
  static constexpr bool kReadsOperands = !requires(F f, float v) { f.GradientA(v); };
  template <typename... N>
  CAFFE2_HOST_DEVICE_INLINE auto operator()(N... values) const {
    return F().GradientA(values...);
  }
};
template <class F>
struct DerivativeB {
  static constexpr const char* kName = F::kName;
  static constexpr int kOperand = 1;
  static constexpr bool kReadsOperands = !requires(F f, float v) { f.GradientB(v); };
  template <typename... N>
  CAFFE2_HOST_DEVICE_INLINE auto operator()(N... values) const {
    return F().GradientB(values...);
  }
};

}  // namespace caffe2::host_device
