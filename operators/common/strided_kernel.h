// Indices of operands with strides. Only for .cu files.
#pragma once

#include "caffe2/cuda/kernel.h"
#include "operators/common/strides.h"

namespace caffe2 {

// The offset of the element with a given row-major index in each operand.
struct Offsets {
  int64_t at[3];
};
__device__ inline Offsets Locate(const Strides& space, int64_t index) {
  Offsets offsets{};
  for (int d = space.dims - 1; d >= 0; --d) {
    const int64_t i = index % space.size[d];
    index /= space.size[d];
    for (int k = 0; k < 3; ++k) offsets.at[k] += i * space.stride[k][d];
  }
  return offsets;
}

}  // namespace caffe2
