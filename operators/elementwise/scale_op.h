// Scale: Y = scale * X.
#pragma once

#include "operators/common/portable.h"

namespace caffe2 {

struct ScaleFunction {
  static constexpr const char* kName = "Scale";
  explicit ScaleFunction(const OperatorBase& op);
  template <typename N>
  CAFFE2_PORTABLE_INLINE N operator()(N x) const {
    return static_cast<N>(scale) * x;
  }
  float scale;
};

}  // namespace caffe2
