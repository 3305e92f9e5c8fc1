// Copies rows of an array by lists of row numbers on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {

// Special row numbers: a row of zeros, and a row of the fill value.
constexpr int64_t kZeroRow = -1, kFillRow = -2;

// Row i of y, `row_bytes` long, is row rows[i] of x. `fill` holds the 4- or 8-byte fill value,
// repeated. Rows of other elements cannot be filled.
void LaunchPickRows(int64_t n, const int64_t* rows, int64_t row_bytes, uint64_t fill, const void* x,
                    void* y, cuda::Stream stream);

// Errors in lengths or indices: the label of a report (kernel_reports.h) about row `row`.
enum RowListProblem : int {
  kSegmentTooLong,  // `value` entries, more than `classes`
  kSequenceLength,  // `value`, for `classes` steps
  kRepeatedRow,     // in a permutation
};

// The functions below make lists of rows for LaunchPickRows from lengths or indices on the device.
// Wrong lengths and indices are reported; the lists then hold other rows, all of which exist.

// The entries [offsets[s], offsets[s + 1]) of each of n segments, the first `length` of them, and
// `other` after the end of shorter ones: rows[n, length]. `present`, if not null, tells for each
// row whether it is an entry. Longer segments are reported unless `cut`.
void LaunchListSegments(int64_t n, const int64_t* offsets, int64_t length, int64_t other, bool cut,
                        int64_t* rows, bool* present, cuda::KernelReport* report,
                        cuda::Stream stream);
// Lists the rows of [steps, batch] with the first lengths[b] rows of each b reversed. Lengths must
// be at most `steps`.
void LaunchListReversed(const RowIndices& lengths, int64_t steps, int64_t batch, int64_t* rows,
                        cuda::KernelReport* report, cuda::Stream stream);
// inverse[indices[i]] = i for indices that name each row once, and forward[i] = indices[i].
void LaunchListPermutation(const RowIndices& indices, int64_t* forward, int64_t* inverse,
                           cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
