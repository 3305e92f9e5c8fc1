// Checks indices and lengths that functors (host_device.h) read. On the host, wrong values throw
// EnforceNotMet at once. On a device a kernel reports them, and the caller that waits for the net
// gets the exception. Until then functors run on wrong indices, so they must skip indices for which
// RowIndices::Has is false.
#pragma once

#include "caffe2/core/tensor.h"
#include "operators/common/row_indices.h"

namespace caffe2 {

// Returns the indices. Throws EnforceNotMet unless the tensor is int32 or int64. All indices must
// be in [0, rows).
template <class Context>
RowIndices CheckedIndices(const Tensor& indices, int64_t rows, Context* context);

// Returns the offset of each segment, and the end of the last one, in `storage`. `lengths` must be
// a one-dimensional int32 or int64 tensor; no length may be negative, and they must add up to
// `entries`. Offsets are in [0, entries] even if lengths are wrong.
template <class Context>
const int64_t* SegmentOffsets(const Tensor& lengths, int64_t entries, Tensor* storage,
                              Context* context);

}  // namespace caffe2
