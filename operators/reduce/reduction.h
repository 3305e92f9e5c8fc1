// Reductions over any set of dimensions, as loops over a BroadcastPlan.
//
// In the plan the first operand is the whole tensor, and the second the result, whose strides are
// 0 in the dimensions that are reduced.
#pragma once

#include <cmath>
#include <limits>

#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"

namespace caffe2 {

// Reducers. The result begins as Init and becomes Combine(result, Map(x)) for each element x.
struct SumReducer {
  template <typename T>
  static constexpr T Init() {
    return T(0);
  }
  template <typename T>
  static T Map(T x) {
    return x;
  }
  template <typename T>
  static T Combine(T a, T b) {
    return a + b;
  }
};
struct AbsSumReducer : SumReducer {
  template <typename T>
  static T Map(T x) {
    return x < T(0) ? -x : x;
  }
};
struct SquareSumReducer : SumReducer {
  template <typename T>
  static T Map(T x) {
    return x * x;
  }
};
// NaN wins: otherwise the result would depend on the order.
struct MaxReducer : SumReducer {
  template <typename T>
  static constexpr T Init() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static T Combine(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct MinReducer : SumReducer {
  template <typename T>
  static constexpr T Init() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <typename T>
  static T Combine(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

// Reduces n consecutive elements into kLanes independent partial results, which let the loop use
// vector instructions and keep the rounding error of long float sums low. Their order is fixed.
template <class R, typename T>
ArithmeticType<T> ReduceBlock(int64_t n, const T* x) {
  using Acc = ArithmeticType<T>;
  constexpr int kLanes = 16;
  Acc lane[kLanes];
  for (Acc& value : lane) value = R::template Init<Acc>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = R::Combine(lane[l], R::Map(Widen(x[i + l])));
  }
  for (int l = 0; i < n; ++i, ++l) lane[l] = R::Combine(lane[l], R::Map(Widen(x[i])));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] = R::Combine(lane[l], lane[l + width]);
  }
  return lane[0];
}

// Reduces n consecutive elements, block by block.
template <class R, typename T>
ArithmeticType<T> ReduceRow(int64_t n, const T* x) {
  constexpr int64_t kBlock = 4096;
  auto result = ReduceBlock<R>(std::min(n, kBlock), x);
  for (int64_t i = kBlock; i < n; i += kBlock) {
    result = R::Combine(result, ReduceBlock<R>(std::min(n - i, kBlock), x + i));
  }
  return result;
}

template <class R, typename T>
void ReduceSerial(const BroadcastPlan& plan, const T* x, ArithmeticType<T>* y) {
  const int64_t n = plan.inner_size();
  if (plan.b_inner_stride() == 0) {
    plan.ForRows(0, plan.outer_size(), [=](int64_t, int64_t a, int64_t b) {
      y[b] = R::Combine(y[b], ReduceRow<R>(n, x + a));
    });
  } else {
    plan.ForRows(0, plan.outer_size(), [=](int64_t, int64_t a, int64_t b) {
      for (int64_t i = 0; i < n; ++i) y[b + i] = R::Combine(y[b + i], R::Map(Widen(x[a + i])));
    });
  }
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
