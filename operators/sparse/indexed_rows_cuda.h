// Sorts, sums and updates rows that are named by index on CUDA devices. Indices are int32 or int64.
// An index out of range is reported.
#pragma once

#include "operators/common/host_device_cuda.h"
#include "operators/common/sorted_rows.h"
#include "operators/sparse/gather_op.h"

namespace caffe2 {

// `group` is the number of indices of each matrix, 0 if all matrices share them. Throws
// EnforceNotMet for indices of another type.
RowIndices ListOfIndices(const Tensor& indices, int64_t rows, int64_t group = 0);
// The same for `layout`; with match_outer each matrix has indices of its own.
RowIndices ListOfIndices(const Tensor& indices, const RowLayout& layout);

// Sorts the positions by the rows that they name, and positions of one row by position. `rows`
// counts the rows of all matrices. `storage` holds the keys and must outlive the result.
SortedRows SortRows(const RowIndices& indices, int64_t rows, Tensor* storage, CUDAContext* context);
SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage, CUDAContext* context);

// As on the host (gather_op.h).
template <typename T>
void SumRows(const Tensor& indices, const RowLayout& layout, const T* x, T* y,
             CUDAContext* context) {
  if (indices.numel() == 0) return;
  Tensor storage(context->device());
  const RowIndices list = ListOfIndices(indices, layout);
  // If each matrix has its own indices, treats all matrices as one with all their rows.
  const int64_t outer = list.group > 0 ? 1 : layout.outer;
  const int64_t rows = layout.rows * (list.group > 0 ? layout.outer : 1);
  const SortedRows sorted = SortRows(list, rows, &storage, context);
  ForEachRow(sorted.n, outer * layout.width,
             SumSortedRows<T>{sorted, outer, rows, layout.width, x, y}, context);
}

// As on the host (operators/common/update_rows.h). INSTANTIATE_FOR_EACH_ROW of
// UpdateSortedRows<Update> in a .cu file makes the kernel (host_device_kernel.h).
template <class Update>
void UpdateRows(const Tensor& indices, int64_t rows, const Update& update, CUDAContext* context) {
  if (indices.numel() == 0) return;
  Tensor storage(context->device());
  const SortedRows sorted = SortIndices(indices, rows, &storage, context);
  ForEachRow(sorted.n, update.width, UpdateSortedRows<Update>{sorted, update}, context);
}

// Calls f(word). The type of `word` is uint32_t if both addresses and row_bytes are multiples of
// its size, else uint8_t.
template <class F>
void WithWordOfRows(const void* from, const void* to, int64_t row_bytes, const F& f) {
  const auto places = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  if ((places | static_cast<uintptr_t>(row_bytes)) % sizeof(uint32_t) == 0) {
    f(uint32_t{});
  } else {
    f(uint8_t{});
  }
}

}  // namespace caffe2
