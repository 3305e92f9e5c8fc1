// Negative: Y = -X.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

struct NegativeFunction {
  static constexpr const char* kName = "Negative";
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return -x;
  }
};

}  // namespace caffe2
