// An index space and operands that are read at its indices, as kernels take them.
#pragma once

#include <cstdint>

namespace caffe2 {

// Dimensions of an index space, outermost first, and what one step along each of them moves three
// operands by. As BroadcastPlan (operators/common/broadcast.h), without what only the host needs.
struct Strides {
  static constexpr int kMaxDims = 8;
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[3][kMaxDims] = {};
};

}  // namespace caffe2
