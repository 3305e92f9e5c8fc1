// Erf: the error function, with the gradient from X.
#pragma once

#include "operators/common/portable_math.h"

namespace caffe2 {

struct ErfFunction {
  static constexpr const char* kName = "Erf";
  static constexpr float kTwoOverRootPi = 1.1283791671f;
  CAFFE2_PORTABLE_INLINE float operator()(float x) const { return portable::Erf(x); }
  CAFFE2_PORTABLE_INLINE float Gradient(float x, float dy) const {
    return dy * kTwoOverRootPi * portable::Exp(-x * x);
  }
};

}  // namespace caffe2
