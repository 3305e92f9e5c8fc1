// Sums over strided rows of float or bfloat16, computed in double. Shared by the normalizations.
#pragma once

#include <algorithm>
#include <cstdint>

#include "caffe2/utils/narrow_float.h"

namespace caffe2 {

struct RowMoments {
  double mean = 0;
  double variance = 0;  // the mean square distance from the mean
};

// The moments of n values x[0], x[stride], ...; zeros if n is 0. Two passes, so that a large mean
// does not make the variance inexact.
template <typename T>
RowMoments MomentsOf(int64_t n, int64_t stride, const T* x) {
  const auto count = static_cast<double>(std::max<int64_t>(1, n));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += Widen(x[i * stride]);
  const double mean = sum / count;
  for (int64_t i = 0; i < n; ++i) {
    const double distance = Widen(x[i * stride]) - mean;
    squares += distance * distance;
  }
  return {mean, squares / count};
}

// Sums of n values a[0], a[stride], ... and of their products with b[0], b[stride], ...
struct RowDots {
  double sum = 0;  // of a
  double dot = 0;  // of a * b
};

template <typename T>
RowDots DotsOf(int64_t n, int64_t stride, const T* a, const T* b) {
  RowDots dots;
  for (int64_t i = 0; i < n; ++i) {
    const double value = Widen(a[i * stride]);
    dots.sum += value;
    dots.dot += value * Widen(b[i * stride]);
  }
  return dots;
}

}  // namespace caffe2
