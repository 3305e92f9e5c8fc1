// Sums over strided rows, in double, that normalizations share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace caffe2 {

struct RowMoments {
  double mean = 0;
  double variance = 0;  // the mean square distance from the mean
};

// Of x[0], x[stride], ..., n values; zeros if there are none. Two passes, so that a large mean does
// not swallow the variance.
inline RowMoments MomentsOf(int64_t n, int64_t stride, const float* x) {
  const auto count = static_cast<double>(std::max<int64_t>(1, n));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i * stride];
  const double mean = sum / count;
  for (int64_t i = 0; i < n; ++i) {
    const double distance = x[i * stride] - mean;
    squares += distance * distance;
  }
  return {mean, squares / count};
}

struct RowDots {
  double sum = 0;  // of a
  double dot = 0;  // of a * b
};

inline RowDots DotsOf(int64_t n, int64_t stride, const float* a, const float* b) {
  RowDots dots;
  for (int64_t i = 0; i < n; ++i) {
    dots.sum += a[i * stride];
    dots.dot += static_cast<double>(a[i * stride]) * b[i * stride];
  }
  return dots;
}

}  // namespace caffe2
