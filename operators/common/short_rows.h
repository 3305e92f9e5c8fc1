// Rows that are too short for loops along them: the loops run across rows, kShortRowCount at a
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "operators/common/host_device_op.h"

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
// The inverse.
CAFFE2_INLINE void ToRows(int64_t n, const float* columns, float* rows) {
  for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) rows[r * n + j] = columns[j * kShortRowCount + r];
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
  ParallelFor(rows, RowGrain(n), [=, &body](int64_t begin, int64_t end) {
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

// Sums of a term over rows, for functors F of the host and of devices (host_device.h) that have
//
//   use(term) in f.WithTerm<Number>(use)    term(i) is computed as Number, i counts all elements
//   f.Finish(row, sum)                      takes the sum of the terms of a row
//
// and call them in f(row, team). Terms vectorize on the host; sums of short rows are in order.
constexpr bool HasShortSums(int64_t n) { return n > 0 && n < host_device::kMinSumLanes; }

// sums[r] = the sum over row r, for `count` rows of n elements from element `first`.
template <class Term>
CAFFE2_FLATTEN CAFFE2_SIMD_CLONES void SumShortTerms(int64_t first, int64_t count, int64_t n,
                                                     Term term, double* sums) {
  double terms[kShortRowCount * host_device::kMinSumLanes];
#pragma omp simd
  for (int64_t i = 0; i < count * n; ++i) terms[i] = term(first + i);
  std::fill(terms + count * n, terms + kShortRowCount * n, 0.);
  std::fill_n(sums, kShortRowCount, 0.);
  for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
    for (int64_t r = 0; r < kShortRowCount; ++r) sums[r] += terms[r * n + j];
  }
}
// Calls body(first row, count) for blocks of kShortRowCount rows. Threads share whole blocks, so
// that each row is at the same place of its block for any number of threads.
template <class Body>
void ForShortBlocks(int64_t begin, int64_t end, int64_t rows, const Body& body) {
  for (int64_t row = begin * kShortRowCount; row < std::min(rows, end * kShortRowCount);
       row += kShortRowCount) {
    body(row, std::min(kShortRowCount, rows - row));
  }
}
inline int64_t RowBlocks(int64_t rows) { return (rows + kShortRowCount - 1) / kShortRowCount; }
inline int64_t BlockGrain(int64_t n) { return RowGrain(kShortRowCount * n, kElementGrain); }

template <class F>
void ForEachRowSum(int64_t rows, int64_t n, const F& f, CPUContext* context) {
  if (!HasShortSums(n)) return ForEachRow(rows, n, f, context);
  ParallelFor(RowBlocks(rows), BlockGrain(n), [=, &f](int64_t begin, int64_t end) {
    f.template WithTerm<double>([=, &f](auto term) {
      ForShortBlocks(begin, end, rows, [=, &f](int64_t row, int64_t count) {
        double sums[kShortRowCount];
        SumShortTerms(row * n, count, n, term, sums);
        for (int64_t r = 0; r < count; ++r) f.Finish(row + r, sums[r]);
      });
      return 0.;
    });
  });
}
template <class F, class Context>
void ForEachRowSum(int64_t rows, int64_t n, const F& f, Context* context) {
  ForEachRow(rows, n, f, context);
}

// Functors that have, in place of a term and a sum,
//
//   f.Factor(row)                   a float for each row
//   use(body) in f.WithBody(use)    body(i, factor of the row) writes what belongs to element i
template <class Body>
CAFFE2_FLATTEN CAFFE2_SIMD_CLONES void RunShortRows(int64_t first, int64_t size,
                                                    const float* factors, Body body) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) body(first + i, factors[i]);
}
template <class F>
void ForEachRowElement(int64_t rows, int64_t n, const F& f, CPUContext* context) {
  if (!HasShortSums(n)) return ForEachRow(rows, n, f, context);
  ParallelFor(RowBlocks(rows), BlockGrain(n), [=, &f](int64_t begin, int64_t end) {
    f.WithBody([=, &f](auto body) {
      ForShortBlocks(begin, end, rows, [=, &f](int64_t row, int64_t count) {
        float factors[kShortRowCount * host_device::kMinSumLanes];
        for (int64_t r = 0; r < count; ++r) std::fill_n(factors + r * n, n, f.Factor(row + r));
        RunShortRows(row * n, count * n, factors, body);
      });
    });
  });
}
template <class F, class Context>
void ForEachRowElement(int64_t rows, int64_t n, const F& f, Context* context) {
  ForEachRow(rows, n, f, context);
}

}  // namespace caffe2
