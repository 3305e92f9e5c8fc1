// Updates rows that are named by index, on the host. operators/sparse/indexed_rows_cuda.h has the
// version for CUDA devices.
#pragma once

#include "caffe2/core/context.h"
#include "operators/common/indices.h"
#include "operators/common/sorted_rows.h"

namespace caffe2 {

// Calls update(indices[i], i, team) for all i; updates of one row run in order. `indices` must be
// int32 or int64 and in [0, rows). Otherwise this throws EnforceNotMet; on a device an index out of
// range makes the wait for the net throw. The functor's width is the number of elements of a
// row (ForEachRow).
template <class Update>
void UpdateRows(const Tensor& indices, int64_t rows, const Update& update,
                CPUContext* /*context*/) {
  const std::vector<int64_t> list = ReadIndices(indices, rows);
  for (size_t i = 0; i < list.size(); ++i) {
    update(list[i], static_cast<int64_t>(i), host_device::SoloTeam());
  }
}

}  // namespace caffe2
