// Updates of rows that are named by index, on CUDA devices. INSTANTIATE_FOR_EACH_ROW of
// UpdateSortedRows<Update> in a .cu file makes the kernel (portable_kernel.h).
#pragma once

#include "operators/common/portable_cuda.h"
#include "operators/common/sorted_rows.h"

namespace caffe2 {

// Positions in order of the rows that the indices name; the keys are in `storage`. Indices are
// int32 or int64; those out of range are reported.
SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage, CUDAContext* context);

// As on the host (update_rows.h).
template <class Update>
void UpdateRows(const Tensor& indices, int64_t rows, const Update& update, CUDAContext* context) {
  if (indices.numel() == 0) return;
  Tensor storage(context->device());
  const SortedRows sorted = SortIndices(indices, rows, &storage, context);
  ForEachRow(sorted.n, update.width, UpdateSortedRows<Update>{sorted, update}, context);
}

}  // namespace caffe2
