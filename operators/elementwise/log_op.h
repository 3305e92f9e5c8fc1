// Log, and Log1p: Y = log(1 + X), with the gradient from X.
#pragma once

#include "operators/common/portable_math.h"

namespace caffe2 {

struct LogFunction {
  static constexpr const char* kName = "Log";
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return portable::Log(x);
  }
};

struct Log1pFunction {
  static constexpr const char* kName = "Log1p";
  CAFFE2_PORTABLE_INLINE float operator()(float x) const { return portable::Log1p(x); }
  CAFFE2_PORTABLE_INLINE float Gradient(float x, float dy) const { return dy / (1 + x); }
};

}  // namespace caffe2
