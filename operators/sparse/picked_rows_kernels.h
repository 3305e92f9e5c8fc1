// Rows picked from an array on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {

// In place of the number of a row: one of zeros, or of the fill value.
constexpr int64_t kZeroRow = -1, kFillRow = -2;

// Row i of y, `row_bytes` long, is row rows[i] of x. `fill` holds the 4- or 8-byte value that fills
// rows, repeated; rows of other elements have none.
void LaunchPickRows(int64_t n, const int64_t* rows, int64_t row_bytes, uint64_t fill, const void* x,
                    void* y, cuda::Stream stream);

// What is wrong with lengths or indices: the label of a report (kernel_reports.h) of row `row`.
enum RowListProblem : int {
  kSegmentTooLong,  // `value` entries, more than `classes`
  kSequenceLength,  // `value`, for `classes` steps
  kRepeatedRow,     // in a permutation
};

// Lists of rows for LaunchPickRows, made where the lengths or indices lie. What is wrong with these
// is reported, and the list is then one of rows that are there.

// The entries [offsets[s], offsets[s + 1]) of each of n segments, the first `length` of them, and
// `other` behind those of shorter ones: rows[n, length]. `present`, if not null, says of each
// whether it is an entry. Unless they may be cut, longer segments are reported.
void LaunchListSegments(int64_t n, const int64_t* offsets, int64_t length, int64_t other, bool cut,
                        int64_t* rows, bool* present, cuda::KernelReport* report,
                        cuda::Stream stream);
// Of [steps, batch] rows the first lengths[b] of each b turned round; lengths are at most `steps`.
void LaunchListReversed(const RowIndices& lengths, int64_t steps, int64_t batch, int64_t* rows,
                        cuda::KernelReport* report, cuda::Stream stream);
// inverse[indices[i]] = i for indices that name each row once, and forward[i] = indices[i].
void LaunchListPermutation(const RowIndices& indices, int64_t* forward, int64_t* inverse,
                           cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
