// Elementary functions that compilers can vectorise: without branches or calls. Call them in loops
// of functions marked CAFFE2_SIMD_CLONES.
#pragma once

#include <cmath>
#include <cstdint>

namespace caffe2 {

// __builtin_bit_cast, not std::bit_cast: with the latter GCC 12 does not vectorise the AVX versions
// of functions marked CAFFE2_SIMD_CLONES.
#define CAFFE2_ALWAYS_INLINE inline __attribute__((always_inline))

// e^x within 2 units in the last place; 0 or infinity beyond the range, NaN for NaN. x = n ln 2 + r
// with |r| <= ln 2 / 2, then a Taylor polynomial of degree 7 in r.
CAFFE2_ALWAYS_INLINE float Exp(float x) {
  // Limits |x| to 104, where the result is 0 or infinity, but keeps NaN. Works on the bits, because
  // comparisons of floats may trap, which prevents vectorisation.
  const int32_t bits = __builtin_bit_cast(int32_t, x), magnitude = bits & 0x7fffffff;
  constexpr int32_t kInfinity = 0x7f800000, kMaxMagnitude = 0x42d00000;  // 104
  const bool clamp = magnitude > kMaxMagnitude && magnitude <= kInfinity;
  x = __builtin_bit_cast(float, clamp ? (bits & ~0x7fffffff) | kMaxMagnitude : bits);
  constexpr float kRound = 12582912.f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.f;
  p = p * r + 1.f;
  // 2^n in two factors: n reaches beyond the exponents of normal numbers.
  const int32_t exponent =
      __builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kRound);
  const int32_t half = exponent >> 1;
  return p * __builtin_bit_cast(float, (half + 127) << 23) *
         __builtin_bit_cast(float, (exponent - half + 127) << 23);
}

CAFFE2_ALWAYS_INLINE float Sigmoid(float x) { return 1.f / (1.f + Exp(-x)); }

// Near zero, where 1 - 2 / (e^2x + 1) cancels, uses the odd Taylor polynomial of degree 9.
CAFFE2_ALWAYS_INLINE float Tanh(float x) {
  const float s = x * x;
  const float near = x + x * s * (-1.f / 3 + s * (2.f / 15 + s * (-17.f / 315 + s * 62.f / 2835)));
  const float far = 1.f - 2.f / (Exp(2.f * x) + 1.f);
  return std::fabs(x) < 0.2f ? near : far;
}

}  // namespace caffe2
