// Add, Sub, Mul and Div. Gradients that equal dc are not defined here (binary_op.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

struct AddFunction {
  static constexpr const char* kName = "Add";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return a + b;
  }
};

struct SubFunction {
  static constexpr const char* kName = "Sub";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return a - b;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc) const {
    return -dc;
  }
};

struct MulFunction {
  static constexpr const char* kName = "Mul";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    return a * b;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientA(N dc, N /*a*/, N b) const {
    return dc * b;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc, N a, N /*b*/) const {
    return dc * a;
  }
};

// Integer quotients round towards zero. n / 0 is 0; DivisorCheck makes it an error.
struct DivFunction {
  static constexpr const char* kName = "Div";
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const {
    if constexpr (std::is_integral_v<N>) {
      if (b == 0) return 0;
      // The one quotient that overflows traps on x86.
      if (b == -1) return static_cast<N>(0 - static_cast<std::make_unsigned_t<N>>(a));
    }
    return a / b;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientA(N dc, N /*a*/, N b) const {
    return dc / b;
  }
  template <typename N>
  CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc, N a, N b) const {
    return -dc * a / (b * b);
  }
  // The same gradients from C instead of A.
  struct OfResult {
    static constexpr const char* kName = "Div";
    template <typename N>
    CAFFE2_HOST_DEVICE_INLINE N GradientA(N dc, N /*c*/, N b) const {
      return dc / b;
    }
    template <typename N>
    CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc, N c, N b) const {
      return -dc * c / b;
    }
  };
};

}  // namespace caffe2
