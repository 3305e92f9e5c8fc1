#include "operators/optimizer/sum_of_squares.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "caffe2/utils/parallel.h"

namespace caffe2 {
namespace {

// The order of the additions is fixed: chunks of this length, and lanes in them.
constexpr int64_t kChunk = 1 << 14;
constexpr int kLanes = 8;

double SumOfChunk(int64_t n, const float* x) {
  double lanes[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      lanes[lane] += value * value;
    }
  }
  for (int64_t i = whole; i < n; ++i) lanes[i - whole] += static_cast<double>(x[i]) * x[i];
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

}  // namespace

double SumOfSquares(int64_t n, const float* x) {
  if (n <= kChunk) return SumOfChunk(n, x);
  std::vector<double> sums((n + kChunk - 1) / kChunk);
  ParallelFor(static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * kChunk;
      sums[chunk] = SumOfChunk(std::min(kChunk, n - first), x + first);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace caffe2
