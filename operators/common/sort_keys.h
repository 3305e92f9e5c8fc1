// Sorting on CUDA devices. Pointers are device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// The power of two, 2 at least, that holds n keys.
inline int64_t SortedKeysSize(int64_t n) {
  int64_t size = 2;
  while (size < n) size *= 2;
  return size;
}

// Sorts each of `lines` runs of n keys, all of which differ; n is a SortedKeysSize. A bitonic sort,
// log2(n)^2 / 2 passes, most of which stay in shared memory.
void LaunchSortKeys(int64_t lines, int64_t n, uint64_t* keys, cuda::Stream stream);

}  // namespace caffe2
