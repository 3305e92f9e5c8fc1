#include "operators/sparse/indexed_rows_cuda.h"

#include "operators/sparse/row_kernels.h"

namespace caffe2 {

RowIndices ListOfIndices(const Tensor& indices, int64_t rows, int64_t group) {
  CAFFE_ENFORCE(indices.IsType<int32_t>() || indices.IsType<int64_t>(),
                "indices must be int32 or int64, not ", indices.dtype().name());
  return {indices.raw_data(), indices.IsType<int64_t>(), indices.numel(), rows, group};
}

RowIndices ListOfIndices(const Tensor& indices, const RowLayout& layout) {
  const bool grouped = layout.match_outer && layout.outer > 0;
  return ListOfIndices(indices, layout.rows, grouped ? indices.numel() / layout.outer : 0);
}

SortedRows SortRows(const RowIndices& indices, int64_t rows, Tensor* storage,
                    CUDAContext* context) {
  const int64_t n = indices.n;
  constexpr auto kMaxRows = static_cast<int64_t>(SortedRows::kNoRow);
  CAFFE_ENFORCE(n < kMaxRows && rows <= kMaxRows, n, " indices of ", rows, " rows are too many");
  storage->Resize(SortedKeysSize(n));
  auto* keys = reinterpret_cast<uint64_t*>(storage->mutable_data<int64_t>());
  LaunchSortRows(indices, keys, context->report(), context->stream());
  return {n, keys};
}

SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage, CUDAContext* context) {
  return SortRows(ListOfIndices(indices, rows), rows, storage, context);
}

}  // namespace caffe2
