// Checked indices and lengths on CUDA devices.
#include "operators/common/checked_indices.h"
#include "operators/common/device_integers.h"

namespace caffe2 {

template <>
RowIndices CheckedIndices(const Tensor& indices, int64_t rows, CUDAContext* context) {
  CAFFE_ENFORCE(indices.IsType<int32_t>() || indices.IsType<int64_t>(),
                "indices must be int32 or int64, not ", indices.dtype().name());
  const RowIndices list{indices.raw_data(), indices.IsType<int64_t>(), indices.numel(), rows};
  LaunchCheckIndices(list, context->report(), context->stream());
  return list;
}

template <>
const int64_t* SegmentOffsets(const Tensor& lengths, int64_t entries, Tensor* storage,
                              CUDAContext* context) {
  return ScanLengths(lengths, entries, storage, context);
}

}  // namespace caffe2
