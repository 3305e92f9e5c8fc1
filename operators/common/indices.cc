#include "operators/common/indices.h"

#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

// True if all n indices are in [0, rows).
template <typename Index>
CAFFE2_SIMD_CLONES bool AreIndices(int64_t n, const Index* indices, int64_t rows) {
  uint64_t signs = 0;  // the highest bit is set if an index or its distance to the last is negative
#pragma omp simd reduction(| : signs)
  for (int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<uint64_t>(static_cast<int64_t>(indices[i]));
    signs |= index | (static_cast<uint64_t>(rows) - 1 - index);
  }
  return signs >> 63 == 0;
}

template <typename Index>
void CheckEach(int64_t n, const Index* indices, int64_t rows) {
  if (AreIndices(n, indices, rows)) return;
  for (int64_t i = 0; i < n; ++i) {
    CAFFE_ENFORCE(indices[i] >= 0 && indices[i] < rows, "index ", indices[i], " at position ", i,
                  " is out of range for ", rows, " rows");
  }
}

}  // namespace

void CheckIndices(int64_t n, const int32_t* indices, int64_t rows) { CheckEach(n, indices, rows); }
void CheckIndices(int64_t n, const int64_t* indices, int64_t rows) { CheckEach(n, indices, rows); }

}  // namespace caffe2
