// Reductions over any set of dimensions, as loops over a BroadcastPlan.
//
// In the plan the first operand is the whole tensor, and the second the result, whose strides are
// 0 in the dimensions that are reduced.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caffe2/utils/simd.h"
#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"

namespace caffe2 {

// Reducers. The result begins as Init and becomes Combine(result, Map(x)) for each element x.
struct SumReducer {
  // Loops that call Combine several times in turn vectorize.
  static constexpr bool kChains = true;
  template <typename T>
  static constexpr CAFFE2_INLINE T Init() {
    return T(0);
  }
  template <typename T>
  static CAFFE2_INLINE T Map(T x) {
    return x;
  }
  template <typename T>
  static CAFFE2_INLINE T Combine(T a, T b) {
    return a + b;
  }
};
struct AbsSumReducer : SumReducer {
  template <typename T>
  static CAFFE2_INLINE T Map(T x) {
    return x < T(0) ? -x : x;
  }
};
struct SquareSumReducer : SumReducer {
  template <typename T>
  static CAFFE2_INLINE T Map(T x) {
    return x * x;
  }
};
// NaN wins: otherwise the result would depend on the order. Both conditions are computed, so that
// loops have no branch.
struct MaxReducer : SumReducer {
  static constexpr bool kChains = false;
  template <typename T>
  static constexpr CAFFE2_INLINE T Init() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static CAFFE2_INLINE T Combine(T a, T b) {
    return static_cast<int>(a > b) | static_cast<int>(a != a) ? a : b;
  }
};
struct MinReducer : SumReducer {
  static constexpr bool kChains = false;
  template <typename T>
  static constexpr CAFFE2_INLINE T Init() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <typename T>
  static CAFFE2_INLINE T Combine(T a, T b) {
    return static_cast<int>(a < b) | static_cast<int>(a != a) ? a : b;
  }
};

// A row is reduced in blocks, which are combined in order. A block is reduced into kReduceLanes
// independent partial results, which let the loop use vector instructions and keep the rounding
// error of long float sums low; the halves of the lanes are combined until one is left. All
// functions below keep to this order.
constexpr int kReduceLanes = 16;
constexpr int64_t kReduceBlock = 4096;

// Combines into y[r] the reduction of row r, for kRows rows of n elements. The processor overlaps
// the chains of several rows.
template <class R, int kRows, typename N>
CAFFE2_INLINE void ReduceLongRows(int64_t n, const N* x, N* y) {
  N lane[kRows][kReduceLanes];
  for (auto& lanes : lane) {
    for (N& value : lanes) value = R::template Init<N>();
  }
  int64_t i = 0;
  for (; i + kReduceLanes <= n; i += kReduceLanes) {
    for (int r = 0; r < kRows; ++r) {
#pragma omp simd
      for (int l = 0; l < kReduceLanes; ++l) {
        lane[r][l] = R::Combine(lane[r][l], R::Map(x[r * n + i + l]));
      }
    }
  }
  for (int l = 0; i < n; ++i, ++l) {
    for (int r = 0; r < kRows; ++r) lane[r][l] = R::Combine(lane[r][l], R::Map(x[r * n + i]));
  }
  for (int r = 0; r < kRows; ++r) {
    for (int width = kReduceLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) lane[r][l] = R::Combine(lane[r][l], lane[r][l + width]);
    }
    y[r] = R::Combine(y[r], lane[r][0]);
  }
}

// The same for kReduceLanes rows, one for each element of a vector. Lanes past the end of short
// rows would hold Init, which changes nothing, so they are left out.
template <class R, typename N>
CAFFE2_INLINE void ReduceShortRows(int64_t n, const N* x, N* y) {
  constexpr int kRows = kReduceLanes;
  N lane[kReduceLanes][kRows];
  const int used = static_cast<int>(std::min<int64_t>(n, kReduceLanes));
  for (int l = 0; l < used; ++l) {
#pragma omp simd
    for (int r = 0; r < kRows; ++r) {
      lane[l][r] = R::Combine(R::template Init<N>(), R::Map(x[r * n + l]));
    }
  }
  for (int64_t i = used; i < n; ++i) {
    N* const lanes = lane[i % kReduceLanes];
#pragma omp simd
    for (int r = 0; r < kRows; ++r) lanes[r] = R::Combine(lanes[r], R::Map(x[r * n + i]));
  }
  for (int width = kReduceLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width && l + width < used; ++l) {
#pragma omp simd
      for (int r = 0; r < kRows; ++r) lane[l][r] = R::Combine(lane[l][r], lane[l + width][r]);
    }
  }
#pragma omp simd
  for (int r = 0; r < kRows; ++r) y[r] = R::Combine(y[r], lane[0][r]);
}

// Combines into y[r] the reduction of row r, for rows of 1 to kReduceBlock elements.
template <class R, typename N>
CAFFE2_SIMD_CLONES void ReduceBlocks(int64_t rows, int64_t n, const N* x, N* y) {
  constexpr int kOverlap = 4;
  int64_t row = 0;
  if (n < 2 * kReduceLanes) {
    for (; row + kReduceLanes <= rows; row += kReduceLanes) {
      ReduceShortRows<R>(n, x + row * n, y + row);
    }
  }
  for (; row + kOverlap <= rows; row += kOverlap) {
    ReduceLongRows<R, kOverlap>(n, x + row * n, y + row);
  }
  for (; row < rows; ++row) ReduceLongRows<R, 1>(n, x + row * n, y + row);
}

template <class R, typename T>
ArithmeticType<T> ReduceRow(int64_t n, const T* x);

// Combines into y[r] the reduction of row r, for rows of n elements.
template <class R, typename T>
void ReduceRows(int64_t rows, int64_t n, const T* x, ArithmeticType<T>* y) {
  if (n > kReduceBlock) {
    for (int64_t r = 0; r < rows; ++r) y[r] = R::Combine(y[r], ReduceRow<R>(n, x + r * n));
  } else if constexpr (kIs16Bit<T>) {
    float wide[kReduceBlock];
    const int64_t batch = kReduceBlock / n;
    for (int64_t r = 0; r < rows; r += batch) {
      const int64_t count = std::min(batch, rows - r);
      WidenRow(count * n, x + r * n, wide);
      ReduceBlocks<R>(count, n, wide, y + r);
    }
  } else {
    ReduceBlocks<R>(rows, n, x, y);
  }
}

// Reduces n consecutive elements. Threads share the blocks of long rows.
template <class R, typename T>
ArithmeticType<T> ReduceRow(int64_t n, const T* x) {
  using Acc = ArithmeticType<T>;
  const int64_t blocks = n / kReduceBlock, rest = n % kReduceBlock;
  std::vector<Acc> partial(blocks, R::template Init<Acc>());
  ParallelFor(blocks, kElementwiseGrain / kReduceBlock, [&](int64_t begin, int64_t end) {
    ReduceRows<R>(end - begin, kReduceBlock, x + begin * kReduceBlock, partial.data() + begin);
  });
  Acc result = R::template Init<Acc>();
  for (const Acc value : partial) result = R::Combine(result, value);
  if (rest > 0) {
    Acc last = R::template Init<Acc>();
    ReduceRows<R>(1, rest, x + blocks * kReduceBlock, &last);
    result = R::Combine(result, last);
  }
  return result;
}

// y[j] = Combine(y[j], Map(x[i * stride + j])) for i = 0, 1, ..., rows - 1, for j < n. Several rows
// at once save loads and stores of y.
template <class R, typename N>
CAFFE2_SIMD_CLONES void CombineRows(int64_t rows, int64_t n, int64_t stride, const N* x, N* y) {
  int64_t i = 0;
  for (; R::kChains && i + 4 <= rows; i += 4) {
    const N *const a = x + i * stride, *const b = a + stride, *const c = b + stride,
                   *const d = c + stride;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const N first = R::Combine(R::Combine(y[j], R::Map(a[j])), R::Map(b[j]));
      y[j] = R::Combine(R::Combine(first, R::Map(c[j])), R::Map(d[j]));
    }
  }
  for (; i < rows; ++i) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) y[j] = R::Combine(y[j], R::Map(x[i * stride + j]));
  }
}

// The same for elements of any type.
template <class R, typename T>
void ReduceColumns(int64_t rows, int64_t n, int64_t stride, const T* x, ArithmeticType<T>* y) {
  if constexpr (kIs16Bit<T>) {
    constexpr int64_t kRows = 8, kColumns = 512;
    float wide[kRows * kColumns];
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      for (int64_t i = 0; i < rows; i += kRows) {
        const int64_t count = std::min(kRows, rows - i);
        for (int64_t k = 0; k < count; ++k) {
          WidenRow(columns, x + (i + k) * stride + j, wide + k * columns);
        }
        CombineRows<R>(count, columns, columns, wide, y + j);
      }
    }
  } else {
    CombineRows<R>(rows, n, stride, x, y);
  }
}

// Combines the reduction of x into y. Two neighbouring dimensions of a plan are never both reduced
// or both kept, since these are merged.
template <class R, typename T>
void ReduceSerial(const BroadcastPlan& plan, const T* x, ArithmeticType<T>* y) {
  const int64_t n = plan.inner_size();
  const bool rows = plan.b_inner_stride() == 0;
  if (plan.dims == 1) {
    rows ? ReduceRows<R>(1, n, x, y) : ReduceColumns<R>(1, n, n, x, y);
    return;
  }
  BroadcastPlan outer = plan;
  --outer.dims;
  outer.numel = plan.numel / n;
  outer.ForRows(0, outer.outer_size(), [=, &outer](int64_t, int64_t a, int64_t b) {
    rows ? ReduceRows<R>(outer.inner_size(), n, x + a, y + b)
         : ReduceColumns<R>(outer.inner_size(), n, outer.a_inner_stride(), x + a, y + b);
  });
}

// y = the reduction of x. y has y_size elements (one for each kept index) and is overwritten. A
// reduction of no elements is R::Init. Threads share the longest kept dimension, so that the order
// of the additions does not depend on the number of threads.
template <class R, typename T>
void Reduce(const BroadcastPlan& plan, const T* x, int64_t y_size, ArithmeticType<T>* y) {
  std::fill(y, y + y_size, R::template Init<ArithmeticType<T>>());
  if (plan.numel == 0) return;
  int longest = -1;
  for (int d = 0; d < plan.dims; ++d) {
    if (plan.b_stride[d] != 0 && (longest < 0 || plan.size[d] > plan.size[longest])) longest = d;
  }
  if (longest < 0 || plan.numel <= kElementwiseGrain) {
    ReduceSerial<R>(plan, x, y);
    return;
  }
  const int64_t work = plan.numel / plan.size[longest];
  ParallelFor(plan.size[longest], std::max<int64_t>(1, kElementwiseGrain / work),
              [&](int64_t begin, int64_t end) {
                ReduceSerial<R>(plan.Part(longest, begin, end), x + begin * plan.a_stride[longest],
                                y + begin * plan.b_stride[longest]);
              });
}

}  // namespace caffe2
