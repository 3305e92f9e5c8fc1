// BitwiseAnd, BitwiseOr and BitwiseXor.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct BitAndFunction {
  static constexpr const char* kName = "BitwiseAnd";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return static_cast<N>(a & b);
  }
};
struct BitOrFunction {
  static constexpr const char* kName = "BitwiseOr";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return static_cast<N>(a | b);
  }
};
struct BitXorFunction {
  static constexpr const char* kName = "BitwiseXor";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return static_cast<N>(a ^ b);
  }
};

}  // namespace caffe2
