// EQ, NE, LT, LE, GT and GE, and And, Or, Xor and Not of bools.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct EqualFunction {
  static constexpr const char* kName = "Equal";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE bool operator()(N a, N b) const {
    return a == b;
  }
};
struct NotEqualFunction {
  static constexpr const char* kName = "NotEqual";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE bool operator()(N a, N b) const {
    return a != b;
  }
};
struct LessFunction {
  static constexpr const char* kName = "Less";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE bool operator()(N a, N b) const {
    return a < b;
  }
};
struct LessEqualFunction {
  static constexpr const char* kName = "LessEqual";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE bool operator()(N a, N b) const {
    return a <= b;
  }
};
struct GreaterFunction {
  static constexpr const char* kName = "Greater";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE bool operator()(N a, N b) const {
    return a > b;
  }
};
struct GreaterEqualFunction {
  static constexpr const char* kName = "GreaterEqual";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE bool operator()(N a, N b) const {
    return a >= b;
  }
};

struct AndFunction {
  static constexpr const char* kName = "And";
  CAFFE2_HOST_DEVICE_INLINE bool operator()(bool a, bool b) const { return a & b; }
};
struct OrFunction {
  static constexpr const char* kName = "Or";
  CAFFE2_HOST_DEVICE_INLINE bool operator()(bool a, bool b) const { return a | b; }
};
struct NotFunction {
  static constexpr const char* kName = "Not";
  static constexpr bool kTakesBits = true;
  CAFFE2_HOST_DEVICE_INLINE bool operator()(bool x) const { return !x; }
  CAFFE2_HOST_DEVICE_INLINE uint8_t operator()(uint8_t x) const { return x == 0; }
};

}  // namespace caffe2
