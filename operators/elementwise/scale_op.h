// Scale: Y = scale * X. Other operators also use the function.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct ScaleFunction {
  static constexpr const char* kName = "Scale";
  explicit ScaleFunction(const OperatorBase& op);  // the argument `scale`
  explicit ScaleFunction(float scale) : scale(scale) {}
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return static_cast<N>(scale) * x;
  }
  float scale;
};

}  // namespace caffe2
