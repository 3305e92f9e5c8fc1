// Converts broadcast plans for kernels.
#pragma once

#include "operators/common/broadcast.h"
#include "operators/common/strides.h"

namespace caffe2 {

// Operand 0 is the plan's a, operand 1 its b.
inline Strides StridesOf(const BroadcastPlan& plan) {
  Strides space;
  space.dims = plan.dims;
  for (int d = 0; d < plan.dims; ++d) {
    space.size[d] = plan.size[d];
    space.stride[0][d] = plan.a_stride[d];
    space.stride[1][d] = plan.b_stride[d];
  }
  return space;
}

}  // namespace caffe2
