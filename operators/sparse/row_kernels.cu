// Kernels of rows that are named by index.
#include "operators/common/host_device_kernel.h"
#include "operators/common/sort_keys.h"
#include "operators/sparse/batch_sparse_to_dense_functions.h"
#include "operators/sparse/one_hot_functions.h"
#include "operators/sparse/row_functions.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {
namespace {

// Index i, or -1 if it is out of range.
template <typename Index>
__device__ inline int64_t CheckedRow(const RowIndices& indices, int64_t i,
                                     cuda::KernelReport* report) {
  const int64_t row = static_cast<const Index*>(indices.data)[i];
  if (row >= 0 && row < indices.rows) return row;
  cuda::Report(report, cuda::KernelReport::kIndexOutOfRange, i, 0, indices.rows,
               static_cast<double>(row));
  return -1;
}

using Word16 = cuda::Pack<uint64_t, 2>;

template <typename Word, typename Index>
void Gather(const RowIndices& indices, int64_t outer, int64_t words, const void* x, void* y,
            cuda::KernelReport* report, cuda::Stream stream) {
  const Word* from = static_cast<const Word*>(x);
  Word* to = static_cast<Word*>(y);
  const int64_t each = indices.group > 0 ? indices.group : indices.n;
  cuda::ForEach("Gather", outer * each * words, stream, [=] __device__(int64_t at) {
    const int64_t i = at / words % each, o = at / words / each;
    const int64_t row = CheckedRow<Index>(indices, indices.group > 0 ? o * each + i : i, report);
    to[at] = row < 0 ? Word{} : from[(o * indices.rows + row) * words + at % words];
  });
}

template <typename Index>
void GatherAs(const RowIndices& indices, int64_t outer, int64_t row_bytes, const void* x, void* y,
              cuda::KernelReport* report, cuda::Stream stream) {
  const auto width = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                     static_cast<uintptr_t>(row_bytes);
  if (width % 16 == 0) {
    Gather<Word16, Index>(indices, outer, row_bytes / 16, x, y, report, stream);
  } else if (width % 4 == 0) {
    Gather<uint32_t, Index>(indices, outer, row_bytes / 4, x, y, report, stream);
  } else {
    Gather<uint8_t, Index>(indices, outer, row_bytes, x, y, report, stream);
  }
}

template <typename Index>
void MakeKeys(const RowIndices& indices, int64_t size, uint64_t* keys, cuda::KernelReport* report,
              cuda::Stream stream) {
  cuda::ForEach("MakeKeys", size, stream, [=] __device__(int64_t i) {
    int64_t row = i < indices.n ? CheckedRow<Index>(indices, i, report) : -1;
    if (row >= 0 && indices.group > 0) row += i / indices.group * indices.rows;
    keys[i] = (row < 0 ? SortedRows::kNoRow : static_cast<uint64_t>(row)) << 32 |
              static_cast<uint64_t>(i);
  });
}

}  // namespace

void LaunchGatherRows(const RowIndices& indices, int64_t outer, int64_t row_bytes, const void* x,
                      void* y, cuda::KernelReport* report, cuda::Stream stream) {
  if (indices.is_int64) return GatherAs<int64_t>(indices, outer, row_bytes, x, y, report, stream);
  GatherAs<int32_t>(indices, outer, row_bytes, x, y, report, stream);
}

void LaunchSortRows(const RowIndices& indices, uint64_t* keys, cuda::KernelReport* report,
                    cuda::Stream stream) {
  const int64_t size = SortedKeysSize(indices.n);
  if (indices.is_int64) {
    MakeKeys<int64_t>(indices, size, keys, report, stream);
  } else {
    MakeKeys<int32_t>(indices, size, keys, report, stream);
  }
  LaunchSortKeys(1, size, keys, stream);
}

INSTANTIATE_FOR_EACH_ROW_REAL(SumSortedRows);
INSTANTIATE_FOR_EACH_ROW(SumSortedRows<double>);
INSTANTIATE_FOR_EACH_ROW(SumSortedRows<int32_t>);
INSTANTIATE_FOR_EACH_ROW(SumSortedRows<int64_t>);
INSTANTIATE_FOR_EACH_ROW(SetRows<uint8_t>);
INSTANTIATE_FOR_EACH_ROW(SetRows<uint32_t>);
INSTANTIATE_FOR_EACH_ROW_REAL(TakeRows);
INSTANTIATE_FOR_EACH_ROW(TakeRows<double>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<ScaleRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AddWeightedRow>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AssignRow<uint8_t>>);
INSTANTIATE_FOR_EACH_ROW(UpdateSortedRows<AssignRow<uint32_t>>);

INSTANTIATE_FOR_EACH(OneHotElements);
INSTANTIATE_FOR_EACH(SegmentOneHotRows);
INSTANTIATE_FOR_EACH(BatchOneHotElements<int32_t>);
INSTANTIATE_FOR_EACH(BatchOneHotElements<int64_t>);
INSTANTIATE_FOR_EACH(BucketOneHotElements);
INSTANTIATE_FOR_EACH(BucketElements);
INSTANTIATE_FOR_EACH(BatchBucketElements);
INSTANTIATE_FOR_EACH_ROW(SparseToDenseRows);
INSTANTIATE_FOR_EACH_ROW(DenseToSparseRows);

}  // namespace caffe2
