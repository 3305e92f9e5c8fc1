// Copies rows of an array by lists of row numbers on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {

// Special row numbers: a row of zeros, and a row of the fill value.
constexpr int64_t kZeroRow = -1, kFillRow = -2;

// Copies row rows[i] of x to row i of y, for i < n. Rows have `row_bytes` bytes. kFillRow writes
// the 8 bytes of `fill` repeatedly: a value of 8 bytes, or two copies of a value of 4 bytes.
void LaunchPickRows(int64_t n, const int64_t* rows, int64_t row_bytes, uint64_t fill, const void* x,
                    void* y, cuda::Stream stream);

// Errors in lengths or indices: the label of a report (kernel_reports.h). The report's `row` is the
// position, `value` the wrong number and `classes` its limit.
enum RowListProblem : int {
  kSegmentTooLong,  // a segment has `value` entries, but only `classes` are allowed
  kSequenceLength,  // a sequence has length `value`, but there are `classes` steps
  kRepeatedRow,     // a permutation names row `row` twice
};

// The functions below make the list `rows` of LaunchPickRows from lengths or indices on the device.
// They report wrong lengths and indices; the list then holds wrong row numbers, but none out of
// range.

// Pads segments to one length. Segment s has the entries offsets[s] to offsets[s + 1] - 1. Row s of
// rows[n, length] lists the first `length` of them, and `other` in the remaining places. `present`
// [n, length] (or null) is true where an entry is listed. A segment of more than `length` entries
// is reported unless `cut` is true.
void LaunchListSegments(int64_t n, const int64_t* offsets, int64_t length, int64_t other, bool cut,
                        int64_t* rows, bool* present, cuda::KernelReport* report,
                        cuda::Stream stream);
// Reverses sequences. Row t * batch + b is step t of sequence b; the list names the first
// lengths[b] steps of each sequence from last to first, and the remaining steps in their order.
// Lengths must be at most `steps`.
void LaunchListReversed(const RowIndices& lengths, int64_t steps, int64_t batch, int64_t* rows,
                        cuda::KernelReport* report, cuda::Stream stream);
// Sets forward[i] = indices[i] and inverse[indices[i]] = i. The indices must name each row once.
void LaunchListPermutation(const RowIndices& indices, int64_t* forward, int64_t* inverse,
                           cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
