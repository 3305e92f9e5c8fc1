// Reductions of runs of rows, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

enum class RangeReducer { kSum, kMean, kMax, kLogSumExp, kLogMeanExp };

// Element i of y [segments, width], in segment s: the reduction of its column of x over rows
// [offsets[s], offsets[s + 1]). A segment has at least one row.
template <RangeReducer kReducer>
struct RangeReduction {
  static constexpr const char* kName = "SortedSegmentRange";
  int64_t width;
  const int64_t* offsets;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t s = i / width, n = offsets[s + 1] - offsets[s];
    y[i] = Reduce(n, x + offsets[s] * width + i % width);
  }
  CAFFE2_HOST_DEVICE float Reduce(int64_t n, const float* first) const {
    if constexpr (kReducer == RangeReducer::kSum || kReducer == RangeReducer::kMean) {
      float sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += first[k * width];
      return kReducer == RangeReducer::kMean ? sum / static_cast<float>(n) : sum;
    } else {
      float max = first[0];
      for (int64_t k = 1; k < n; ++k) max = max < first[k * width] ? first[k * width] : max;
      if constexpr (kReducer == RangeReducer::kMax) return max;
      // The maximum is subtracted first, so that nothing overflows.
      float sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += std::exp(first[k * width] - max);
      const float whole = max + std::log(sum);
      return kReducer == RangeReducer::kLogSumExp ? whole : whole - std::log(static_cast<float>(n));
    }
  }
};

// The rows of segment s of dx, from the same rows of x and row s of y and dy.
template <RangeReducer kReducer>
struct RangeGradient {
  static constexpr const char* kName = "SortedSegmentRangeGradient";
  int64_t width;
  const int64_t* offsets;
  const float *x, *y, *dy;
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t s, Team team) const {
    const int64_t n = offsets[s + 1] - offsets[s], first = offsets[s] * width;
    for (int64_t k = team.first(); k < n * width; k += team.step()) {
      const int64_t j = s * width + k % width;
      dx[first + k] = Gradient(n, x[first + k], y[j], dy[j]);
    }
  }
  CAFFE2_HOST_DEVICE static float Gradient(int64_t n, float x, float y, float dy) {
    if constexpr (kReducer == RangeReducer::kSum) return dy;
    if constexpr (kReducer == RangeReducer::kMean) return dy / static_cast<float>(n);
    if constexpr (kReducer == RangeReducer::kMax) return x == y ? dy : 0.f;
    if constexpr (kReducer == RangeReducer::kLogSumExp) return dy * std::exp(x - y);
    return dy * std::exp(x - y) / static_cast<float>(n);
  }
};

}  // namespace caffe2
