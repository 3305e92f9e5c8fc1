// Kernels for rows that are named by index, on CUDA devices. Pointers are device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/runtime.h"
#include "operators/common/row_indices.h"
#include "operators/common/sort_keys.h"

namespace caffe2 {

// y[o, i] = x[o, index[i]] for rows of `row_bytes`, o < outer. With groups, matrix o of x uses the
// indices of group o. An index out of range is reported, and its row is 0.
void LaunchGatherRows(const RowIndices& indices, int64_t outer, int64_t row_bytes, const void* x,
                      void* y, cuda::KernelReport* report, cuda::Stream stream);

// Makes the keys of SortedRows (sorted_rows.h), with groups of rows of all matrices one after
// another. An index out of range is reported, and names no row. `keys` holds SortedKeysSize(n)
// elements (sort_keys.h).
void LaunchSortRows(const RowIndices& indices, uint64_t* keys, cuda::KernelReport* report,
                    cuda::Stream stream);

}  // namespace caffe2
