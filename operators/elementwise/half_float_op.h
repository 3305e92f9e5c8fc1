// FloatToHalf and HalfToFloat.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// MapElements widens and narrows, which is the conversion.
struct IdentityFunction {
  static constexpr const char* kName = "Convert";
  CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const { return x; }
};

}  // namespace caffe2
