// Normalizations of rows that are too short for loops along them: the loops run across rows,
// kShortRowCount at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"

namespace caffe2 {

constexpr int64_t kShortRowCount = 16, kShortRowVector = 8;
constexpr int64_t kLongestShortRow = 64;
constexpr int64_t kShortRowElements = kShortRowCount * kLongestShortRow;

constexpr bool HasShortRows(int64_t n) { return n > 0 && n <= kLongestShortRow; }

// columns[j * kShortRowCount + r] = element j of row r.
CAFFE2_INLINE void ToColumns(int64_t n, const float* rows, float* columns) {
  for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) columns[j * kShortRowCount + r] = rows[r * n + j];
  }
}
// sums[r] = the sum of f(element, r) over row r, in order.
template <class F>
CAFFE2_INLINE void SumShortRows(int64_t n, const float* columns, double* sums, const F& f) {
  std::fill_n(sums, kShortRowCount, 0.);
  for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) sums[r] += f(columns[j * kShortRowCount + r], r);
  }
}
// to[i] = f(from[i], r) for the elements of all rows r, in whole vectors; the next row overwrites
// the surplus, for which the arrays have room.
template <class F>
CAFFE2_INLINE void MapShortRows(int64_t n, const float* from, float* to, const F& f) {
  for (int64_t r = 0; r < kShortRowCount; ++r) {
    for (int64_t begin = r * n; begin < (r + 1) * n; begin += kShortRowVector) {
#pragma omp simd
      for (int64_t i = begin; i < begin + kShortRowVector; ++i) to[i] = f(from[i], r);
    }
  }
}

// Calls body(first row, count, in, out) for blocks of rows of n elements, in parallel: `in` has
// kShortRowCount rows, of which `count` are rows of x, and `out` gets as many.
template <typename T, class Body>
void ForShortRows(int64_t rows, int64_t n, const T* x, T* y, const Body& body) {
  ParallelFor(rows, kElementwiseGrain / n, [=, &body](int64_t begin, int64_t end) {
    float in[kShortRowElements + kShortRowVector] = {}, out[kShortRowElements + kShortRowVector];
    for (int64_t row = begin; row < end; row += kShortRowCount) {
      const int64_t count = std::min(kShortRowCount, end - row);
      if constexpr (std::is_same_v<T, float>) {
        std::copy_n(x + row * n, count * n, in);
        body(row, count, in, out);
        std::copy_n(out, count * n, y + row * n);
      } else {
        WidenRow(count * n, x + row * n, in);
        body(row, count, in, out);
        NarrowRow(count * n, out, y + row * n);
      }
    }
  });
}

}  // namespace caffe2
