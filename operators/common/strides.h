// An index space and the strides of its operands, as kernels take them.
#pragma once

#include <cstdint>

namespace caffe2 {

// The dimensions of an index space, outermost first, and the strides of up to three operands along
// them. Like BroadcastPlan (operators/common/broadcast.h), without the functions for the host.
struct Strides {
  static constexpr int kMaxDims = 8;
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[3][kMaxDims] = {};
};

}  // namespace caffe2
