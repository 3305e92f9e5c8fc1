// Reciprocal: Y = 1 / X, with the gradient from Y.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

struct ReciprocalFunction {
  static constexpr const char* kName = "Reciprocal";
  CAFFE2_PORTABLE_INLINE float operator()(float x) const { return 1 / x; }
  CAFFE2_PORTABLE_INLINE float Gradient(float y, float dy) const { return -dy * y * y; }
};

}  // namespace caffe2
