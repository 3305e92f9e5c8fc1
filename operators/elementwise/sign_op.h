// Sign: Y = -1, 0 or 1.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

struct SignFunction {
  static constexpr const char* kName = "Sign";
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return static_cast<N>((x > N(0)) - (x < N(0)));
  }
};

}  // namespace caffe2
