#include "operators/sparse/one_hot_op.h"

#include <algorithm>

#include "operators/common/host_device_op.h"

namespace caffe2 {

void MarkIndices(const OneHotElements& rows, int64_t n, CPUContext* /*context*/) {
  const int64_t width = rows.classes;
  if (width == 0) return;
  ParallelFor(n, RowGrain(width, kElementGrain), [&](int64_t begin, int64_t end) {
    std::fill(rows.y + begin * width, rows.y + end * width, 0.f);
    for (int64_t i = begin; i < end; ++i) rows.y[i * width + rows.index[i]] = 1.f;
  });
}

REGISTER_CPU_OPERATOR(OneHot, OneHotOp<CPUContext>);
OPERATOR_SCHEMA(OneHot)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc(
        "A matrix with one row for each index: 1 in the column that the index names, 0 elsewhere. "
        "Its width is known at run time only.")
    .Input(0, "indices", "int64, one-dimensional; each less than the number of columns.")
    .Input(1, "index_size_tensor", "The number of columns: one int64, read on the host.")
    .Output(0, "one_hots", "[number of indices, number of columns], float.");
SHOULD_NOT_DO_GRADIENT(OneHot);

}  // namespace caffe2
