// Ceil and Floor.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct CeilFunction {
  static constexpr const char* kName = "Ceil";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return std::ceil(x);
  }
};

struct FloorFunction {
  static constexpr const char* kName = "Floor";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N x) const {
    return std::floor(x);
  }
};

}  // namespace caffe2
