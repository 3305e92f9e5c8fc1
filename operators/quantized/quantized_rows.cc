#include "operators/quantized/quantized_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace caffe2 {
namespace {

using Bounds = std::pair<float, float>;

float RoundToHalf(float value) {
  const float rounded = ToFloat(ToFloat16(value));
  CAFFE_ENFORCE(std::isfinite(rounded), value, " is too large for the float16 of a quantized row");
  return rounded;
}

RowFactors HalfFactors(const Bounds& bounds, int max_level) {
  RowFactors factors;
  factors.bias = RoundToHalf(bounds.first);
  factors.scale = RoundToHalf((bounds.second - factors.bias) / static_cast<float>(max_level));
  // Division by a scale that is 0 or too small would overflow.
  if (factors.scale == 0 || std::isinf(1 / factors.scale)) factors.scale = 1;
  return factors;
}

float LevelOf(float x, const RowFactors& factors, float inverse_scale, float max_level) {
  return std::clamp(std::nearbyint((x - factors.bias) * inverse_scale), 0.f, max_level);
}

void ToLevels(int64_t n, const float* x, const RowFactors& factors, float inverse, int max_level,
              uint8_t* levels) {
  for (int64_t i = 0; i < n; ++i) {
    levels[i] =
        static_cast<uint8_t>(LevelOf(x[i], factors, inverse, static_cast<float>(max_level)));
  }
}

// The root of the sum of squared errors. Errors are added in the order of Caffe2's vector code,
// eight sums in parallel and then the rest: another order would lead the search to other bounds.
float ErrorWithin(int64_t n, const float* x, const Bounds& bounds, int max_level) {
  const RowFactors factors = HalfFactors(bounds, max_level);
  const float inverse = 1 / factors.scale;
  const auto square = [&](float value) {
    const float level = LevelOf(value, factors, inverse, static_cast<float>(max_level));
    const float error = value - (level * factors.scale + factors.bias);
    return error * error;
  };
  constexpr int64_t kLanes = 8;
  const int64_t whole = n / kLanes * kLanes;
  std::array<float, kLanes> lanes{};
  for (int64_t i = 0; i < whole; ++i) lanes[i % kLanes] += square(x[i]);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (int64_t i = whole; i < n; ++i) sum += square(x[i]);
  return std::sqrt(sum);
}

// In each step takes one of kSteps parts of the range off one of the ends, the one that leaves the
// smaller error, as long as the bounds keep most of the range. The best bounds are a local minimum
// of the error.
Bounds SearchBounds(int64_t n, const float* x, int max_level) {
  constexpr int kSteps = 200;
  constexpr float kMaxTaken = 0.16f;
  Bounds best = RowBounds(n, x), now = best;
  const float step = (best.second - best.first) / kSteps;
  const float kept = step * std::floor(kSteps * (1 - kMaxTaken));
  float error = ErrorWithin(n, x, now, max_level), best_error = error;
  while (now.first + kept < now.second) {
    const Bounds higher{now.first + step, now.second}, lower{now.first, now.second - step};
    const float higher_error = ErrorWithin(n, x, higher, max_level);
    const float lower_error = ErrorWithin(n, x, lower, max_level);
    if (error < higher_error && error < lower_error && error < best_error) {
      best = now;
      best_error = error;
    }
    now = higher_error < lower_error ? higher : lower;
    error = std::min(higher_error, lower_error);
  }
  return best;
}

}  // namespace

std::pair<float, float> RowBounds(int64_t n, const float* x) {
  if (n == 0) return {0.f, 0.f};
  for (int64_t i = 0; i < n; ++i) {
    CAFFE_ENFORCE(std::isfinite(x[i]), "element ", i, " of a row is ", x[i],
                  ": the row cannot be quantized");
  }
  const auto [min, max] = std::minmax_element(x, x + n);
  CAFFE_ENFORCE(std::isfinite(*max - *min), "a row from ", *min, " to ", *max,
                " cannot be quantized");
  return {*min, *max};
}

RowFactors QuantizeRow(int64_t n, const float* x, int max_level, bool half_factors,
                       uint8_t* levels) {
  const Bounds bounds = RowBounds(n, x);
  if (half_factors) {
    const RowFactors factors = HalfFactors(bounds, max_level);
    ToLevels(n, x, factors, 1 / factors.scale, max_level, levels);
    return factors;
  }
  const auto highest = static_cast<float>(max_level);
  const float range = bounds.second - bounds.first;
  const RowFactors factors{range / highest, bounds.first};
  // As in Caffe2, to the bit: the addend tells ties, and keeps equal elements from a division by 0.
  ToLevels(n, x, factors, highest / (range + 1e-8f), max_level, levels);
  return factors;
}

RowFactors QuantizeRowGreedily(int64_t n, const float* x, int max_level, uint8_t* levels) {
  const RowFactors factors = HalfFactors(SearchBounds(n, x, max_level), max_level);
  ToLevels(n, x, factors, 1 / factors.scale, max_level, levels);
  return factors;
}

void PackRow(const RowFormat& format, int64_t n, const uint8_t* levels, const RowFactors& factors,
             uint8_t* row) {
  const int per_byte = format.per_byte();
  const int64_t bytes = format.stride(n) - format.factor_bytes();
  std::fill_n(row, bytes, uint8_t{0});
  for (int64_t j = 0; j < n; ++j) {
    row[j / per_byte] |= static_cast<uint8_t>(levels[j] << (j % per_byte * format.bits));
  }
  if (format.half_factors) {
    const float16 both[] = {ToFloat16(factors.scale), ToFloat16(factors.bias)};
    std::memcpy(row + bytes, both, sizeof both);
  } else if (format.fused) {
    const float both[] = {factors.scale, factors.bias};
    std::memcpy(row + bytes, both, sizeof both);
  }
}

}  // namespace caffe2
