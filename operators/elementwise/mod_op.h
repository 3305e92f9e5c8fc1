// Mod: the remainder of a division of integers.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The remainder has the sign of x or, with follow_divisor, the sign of the divisor.
struct ModFunction {
  static constexpr const char* kName = "Mod";
  explicit ModFunction(const OperatorBase& op);  // throws for the divisor 0
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    int64_t rest = divisor == -1 ? 0 : static_cast<int64_t>(x) % divisor;  // least int64 % -1 traps
    if (follow_divisor && rest != 0 && (rest < 0) != (divisor < 0)) rest += divisor;
    return static_cast<N>(rest);
  }
  int64_t divisor;
  bool follow_divisor;
};

}  // namespace caffe2
