// Updates rows that are named by index, on the host. operators/sparse/indexed_rows_cuda.h has the
// version for CUDA devices.
#pragma once

#include "caffe2/core/context.h"
#include "operators/common/indices.h"
#include "operators/common/sorted_rows.h"

namespace caffe2 {

// Calls update(indices[i], i, team) for all i; updates of one row run in order. Throws
// EnforceNotMet unless `indices` is int32 or int64 and in [0, rows). The version for devices
// reports an index out of range instead (checked_indices.h). The functor's width is the number of
// elements of a row (ForEachRow).
template <class Update>
void UpdateRows(const Tensor& indices, int64_t rows, const Update& update,
                CPUContext* /*context*/) {
  const std::vector<int64_t> list = ReadIndices(indices, rows);
  for (size_t i = 0; i < list.size(); ++i) {
    update(list[i], static_cast<int64_t>(i), host_device::SoloTeam());
  }
}

}  // namespace caffe2
