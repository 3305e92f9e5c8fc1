// Sorts keys on CUDA devices. Pointers are device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// The smallest power of two, at least 2, that is not less than n.
inline int64_t SortedKeysSize(int64_t n) {
  int64_t size = 2;
  while (size < n) size *= 2;
  return size;
}

// Sorts each of `lines` runs of n keys in ascending order, in place. n must be a value of
// SortedKeysSize, and the keys of a run must differ. This is a bitonic sort: log2(n)^2 / 2 passes,
// most of them in shared memory.
void LaunchSortKeys(int64_t lines, int64_t n, uint64_t* keys, cuda::Stream stream);

}  // namespace caffe2
