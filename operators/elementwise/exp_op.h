// Exp: Y = e^X.
#pragma once

#include "operators/common/portable_math.h"

namespace caffe2 {

struct ExpFunction {
  static constexpr const char* kName = "Exp";
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return portable::Exp(x);
  }
};

}  // namespace caffe2
