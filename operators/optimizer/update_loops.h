// Runs DenseUpdate and SparseUpdate on the host.
#pragma once

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/simd.h"
#include "operators/common/host_device_op.h"
#include "operators/common/update_rows.h"
#include "operators/optimizer/sparse_update.h"

namespace caffe2 {

// `count` stretches of n elements each. Stretch k begins at element starts[k] * unit of parameter
// and states, and at element from + k n of the gradient.
struct Stretches {
  const int64_t* starts;
  int64_t count, unit, from, n;
};

// Updates all elements by `u`, which must be a local variable, so that the compiler sees that the
// loops do not change it.
template <class Update>
CAFFE2_INLINE void UpdateEach(const Update& u, const Stretches& all) {
  const int64_t n = all.n, end = all.from + all.count * n;
  const UpdateScalars scalars = u.Scalars();
  const bool skip = u.Skips();
  const int64_t* start = all.starts;
  for (int64_t from = all.from; from < end; from += n) {
    const int64_t at = *start++ * all.unit;
    if (skip) {
      for (int64_t i = 0; i < n; ++i) u.Update(at + i, from + i, scalars, true);
      continue;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) u.Update(at + i, from + i, scalars, false);
  }
}

// Updates all elements.
template <class Update>
CAFFE2_FLATTEN CAFFE2_SIMD_CLONES void UpdateElements(const Update& update, const Stretches& all) {
  Update u = update;
  if (u.step_out != nullptr) return UpdateEach(u, all);
  u.step_out = nullptr;  // known to the compiler: it moves only a few conditions out of a loop
  UpdateEach(u, all);
}

// Updates the elements [begin, end).
template <class Update>
void UpdateRange(const Update& update, int64_t begin, int64_t end) {
  UpdateElements(update, Stretches{&begin, 1, 1, begin, end - begin});
}

// The minimum number of elements for a thread.
constexpr int64_t kOptimizerGrain = 1 << 14;

// Updates all n elements.
template <class R, typename P, typename G, typename S>
void ForEach(int64_t n, const DenseUpdate<R, P, G, S>& update, CPUContext* /*context*/) {
  ParallelFor(n, kOptimizerGrain,
              [&update](int64_t begin, int64_t end) { UpdateRange(update, begin, end); });
}

// Updates all rows that the indices name, in order.
template <class Rule, typename P>
void UpdateRows(const Tensor& indices, int64_t rows, const SparseUpdate<Rule, P>& update,
                CPUContext* /*context*/) {
  const std::vector<int64_t> list = ReadIndices(indices, rows);
  const auto n = static_cast<int64_t>(list.size());
  UpdateElements(update.elements, Stretches{list.data(), n, update.width, 0, update.width});
}

}  // namespace caffe2
