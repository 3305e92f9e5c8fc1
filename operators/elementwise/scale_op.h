// Scale: Y = scale * X.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ScaleFunction {
  static constexpr const char* kName = "Scale";
  explicit ScaleFunction(const OperatorBase& op);
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return static_cast<N>(scale) * x;
  }
  float scale;
};

}  // namespace caffe2
