#include "operators/quantized/quantized_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace caffe2 {
namespace {

float RoundToHalf(float value) {
  const float rounded = ToFloat(ToFloat16(value));
  CAFFE_ENFORCE(std::isfinite(rounded), value, " is too large for the float16 of a quantized row");
  return rounded;
}

RowFactors HalfFactors(const RowBounds& bounds, int max_level) {
  RowFactors factors;
  factors.bias = RoundToHalf(bounds.first);
  factors.scale = RoundToHalf((bounds.second - factors.bias) / static_cast<float>(max_level));
  // Division by a scale that is 0 or too small would overflow.
  if (factors.scale == 0 || std::isinf(1 / factors.scale)) factors.scale = 1;
  return factors;
}

// Adding it rounds a number from 0 to 255 to the nearest integer, a tie to the even one, and leaves
// that integer in the low bits.
constexpr float kRounder = 0x1.8p23f;

// The sum of kRounder and a level; `highest` is the sum of the highest level.
CAFFE2_INLINE float RoundedLevel(float x, float bias, float inverse_scale, float highest) {
  const float level = (x - bias) * inverse_scale;
  const float rounded = (level > 0 ? level : 0) + kRounder;
  return rounded < highest ? rounded : highest;
}

// The loops are apart because GCC 12 uses narrow vectors for a loop with bytes.
template <int kCount>
CAFFE2_INLINE void BlockToLevels(const float* x, float bias, float inverse, float highest,
                                 uint8_t* levels) {
  int32_t bits[kCount];
  for (int i = 0; i < kCount; ++i) {
    bits[i] = std::bit_cast<int32_t>(RoundedLevel(x[i], bias, inverse, highest));
  }
  for (int i = 0; i < kCount; ++i) levels[i] = static_cast<uint8_t>(bits[i]);
}

CAFFE2_SIMD_CLONES void ToLevels(int64_t n, const float* x, float bias, float inverse,
                                 float max_level, uint8_t* levels) {
  constexpr int kBlock = 16;
  const float highest = max_level + kRounder;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    BlockToLevels<kBlock>(x + i, bias, inverse, highest, levels + i);
  }
  if (n >= kBlock && i < n) {  // the last block overlaps the one before
    i = n - kBlock;
    BlockToLevels<kBlock>(x + i, bias, inverse, highest, levels + i);
    i = n;
  }
  for (; i < n; ++i) BlockToLevels<1>(x + i, bias, inverse, highest, levels + i);
}

// The smallest and the largest element, and a number that is 0 if all elements are finite. A bool
// would be returned by way of memory, which takes as long as the rest.
struct Extremes {
  float min, max;
  uint32_t not_finite;
};
CAFFE2_SIMD_CLONES Extremes FindExtremes(int64_t n, const float* x) {
  float min = x[0], max = x[0];
  uint32_t bits = 0;  // of differences: 0, or NaN if the element is not finite
#pragma omp simd reduction(min : min) reduction(max : max) reduction(| : bits)
  for (int64_t i = 0; i < n; ++i) {
    min = x[i] < min ? x[i] : min;
    max = x[i] > max ? x[i] : max;
    bits |= std::bit_cast<uint32_t>(x[i] - x[i]);
  }
  return {min, max, bits};
}

// The root of the sum of squared errors. Errors are added in the order of Caffe2's vector code,
// eight sums in parallel and then the rest: another order would lead the search to other bounds.
float ErrorWithin(int64_t n, const float* x, const RowBounds& bounds, int max_level) {
  const RowFactors factors = HalfFactors(bounds, max_level);
  const float inverse = 1 / factors.scale, highest = static_cast<float>(max_level) + kRounder;
  const auto square = [&](float value) __attribute__((always_inline)) {
    const float level = RoundedLevel(value, factors.bias, inverse, highest) - kRounder;
    const float error = value - (level * factors.scale + factors.bias);
    return error * error;
  };
  constexpr int64_t kLanes = 8;
  const int64_t whole = n / kLanes * kLanes;
  std::array<float, kLanes> lanes{};
  // Without clones, which would round products and sums together.
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += square(x[i + lane]);
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (int64_t i = whole; i < n; ++i) sum += square(x[i]);
  return std::sqrt(sum);
}

// A word holds the levels of a byte.
CAFFE2_SIMD_CLONES void PackPairs(int64_t bytes, const uint8_t* levels, uint8_t* row) {
  ForEachByte(
      bytes, [=](int64_t i) __attribute__((always_inline)) {
        const auto word = ReadWord<uint16_t>(levels + 2 * i);
        row[i] = static_cast<uint8_t>(word | word >> 4);
      });
}
CAFFE2_SIMD_CLONES void PackFours(int64_t bytes, const uint8_t* levels, uint8_t* row) {
  ForEachByte(
      bytes, [=](int64_t i) __attribute__((always_inline)) {
        const auto word = ReadWord<uint32_t>(levels + 4 * i);
        row[i] = static_cast<uint8_t>(word | word >> 6 | word >> 12 | word >> 18);
      });
}

}  // namespace

RowBounds FindRowBounds(int64_t n, const float* x) {
  if (n == 0) return {0.f, 0.f};
  const Extremes found = FindExtremes(n, x);
  for (int64_t i = 0; found.not_finite != 0 && i < n; ++i) {
    CAFFE_ENFORCE(std::isfinite(x[i]), "element ", i, " of a row is ", x[i],
                  ": the row cannot be quantized");
  }
  CAFFE_ENFORCE(std::isfinite(found.max - found.min), "a row from ", found.min, " to ", found.max,
                " cannot be quantized");
  if (found.min != 0 && found.max != 0) return {found.min, found.max};
  const auto [min, max] = std::minmax_element(x, x + n);  // it tells 0 from -0
  return {*min, *max};
}

// In each step takes one of kSteps parts of the range off one of the ends, the one that leaves the
// smaller error, as long as the bounds keep most of the range. The best bounds are a local minimum
// of the error.
RowBounds SearchRowBounds(int64_t n, const float* x, int max_level) {
  constexpr int kSteps = 200;
  constexpr float kMaxTaken = 0.16f;
  RowBounds best = FindRowBounds(n, x), now = best;
  const float step = (best.second - best.first) / kSteps;
  const float kept = step * std::floor(kSteps * (1 - kMaxTaken));
  float error = ErrorWithin(n, x, now, max_level), best_error = error;
  while (now.first + kept < now.second) {
    const RowBounds higher{now.first + step, now.second}, lower{now.first, now.second - step};
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

RowFactors QuantizeRow(int64_t n, const float* x, const RowBounds& bounds, int max_level,
                       bool half_factors, uint8_t* levels) {
  const auto highest = static_cast<float>(max_level);
  if (half_factors) {
    const RowFactors factors = HalfFactors(bounds, max_level);
    ToLevels(n, x, factors.bias, 1 / factors.scale, highest, levels);
    return factors;
  }
  const float range = bounds.second - bounds.first;
  const RowFactors factors{range / highest, bounds.first};
  // As in Caffe2, to the bit: the addend tells ties, and keeps equal elements from a division by 0.
  ToLevels(n, x, factors.bias, highest / (range + 1e-8f), highest, levels);
  return factors;
}

void PackRow(const RowFormat& format, int64_t n, const uint8_t* levels, const RowFactors& factors,
             uint8_t* row) {
  const int64_t bytes = n / format.per_byte();
  if (format.bits == 4) PackPairs(bytes, levels, row);
  if (format.bits == 2) PackFours(bytes, levels, row);
  if (format.bits == 8 && levels != row) std::copy_n(levels, n, row);
  if (format.half_factors) {
    const float16 both[] = {ToFloat16(factors.scale), ToFloat16(factors.bias)};
    std::memcpy(row + bytes, both, sizeof both);
  } else if (format.fused) {
    const float both[] = {factors.scale, factors.bias};
    std::memcpy(row + bytes, both, sizeof both);
  }
}

}  // namespace caffe2
