#include "operators/common/checked_indices.h"

#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/common/indices.h"
#include "operators/segment/segments.h"

namespace caffe2 {

template <>
RowIndices CheckedIndices(const Tensor& indices, int64_t rows, CPUContext* /*context*/) {
  const int64_t n = indices.numel();
  if (indices.IsType<int32_t>()) {
    CheckIndices(n, indices.data<int32_t>(), rows);
  } else {
    CAFFE_ENFORCE(indices.IsType<int64_t>(), "indices must be int32 or int64, not ",
                  indices.dtype().name());
    CheckIndices(n, indices.data<int64_t>(), rows);
  }
  return {indices.raw_data(), indices.IsType<int64_t>(), n, rows};
}

template <>
const int64_t* SegmentOffsets(const Tensor& lengths, int64_t entries, Tensor* storage,
                              CPUContext* /*context*/) {
  const std::vector<int64_t> offsets = Segments::FromLengths(lengths, entries).Offsets();
  storage->Resize(static_cast<int64_t>(offsets.size()));
  std::copy(offsets.begin(), offsets.end(), storage->mutable_data<int64_t>());
  return storage->data<int64_t>();
}

}  // namespace caffe2
