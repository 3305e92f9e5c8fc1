// Updates of rows that are named by index, on the host;
// operators/sparse/indexed_rows_cuda.h has them for CUDA devices.
#pragma once

#include "caffe2/core/context.h"
#include "operators/common/indices.h"
#include "operators/common/sorted_rows.h"

namespace caffe2 {

// update(indices[i], i, team) for all i; a row is updated in order. Throws EnforceNotMet, on a
// device when the net is waited for, unless all indices, int32 or int64, are in [0, rows). The
// functor's width is the elements of a row (ForEachRow).
template <class Update>
void UpdateRows(const Tensor& indices, int64_t rows, const Update& update,
                CPUContext* /*context*/) {
  const std::vector<int64_t> list = ReadIndices(indices, rows);
  for (size_t i = 0; i < list.size(); ++i) {
    update(list[i], static_cast<int64_t>(i), host_device::SoloTeam());
  }
}

}  // namespace caffe2
