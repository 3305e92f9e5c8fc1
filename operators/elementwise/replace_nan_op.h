// ReplaceNaN: replaces each NaN by a value.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ReplaceNaNFunction {
  static constexpr const char* kName = "ReplaceNaN";
  explicit ReplaceNaNFunction(const OperatorBase& op);
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return x != x ? static_cast<N>(value) : x;
  }
  float value;
};

}  // namespace caffe2
