// Indices and lengths that functors read where they lie (host_device.h), checked. On a device what
// is wrong with them is reported, and thrown when the net is waited for: functors pass over indices
// that RowIndices::Has does not have.
#pragma once

#include "caffe2/core/tensor.h"
#include "operators/common/row_indices.h"

namespace caffe2 {

// Throws EnforceNotMet unless the tensor is int32 or int64; all of it must be in [0, rows).
template <class Context>
RowIndices CheckedIndices(const Tensor& indices, int64_t rows, Context* context);

// Where each segment begins, and the end of the last, in `storage`: one-dimensional int32 or int64
// lengths, none negative, that add up to `entries`. What is wrong leaves them in [0, entries].
template <class Context>
const int64_t* SegmentOffsets(const Tensor& lengths, int64_t entries, Tensor* storage,
                              Context* context);

}  // namespace caffe2
