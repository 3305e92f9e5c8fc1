// Elementary functions that compilers vectorise: branch-free, without calls. Call them in loops of
// functions marked CAFFE2_SIMD_CLONES.
#pragma once

#include <cmath>
#include <cstdint>

#include "caffe2/utils/simd.h"

namespace caffe2 {

// Bits are moved by __builtin_bit_cast: GCC 12 vectorises no loop with std::bit_cast in the AVX
// versions of a function marked CAFFE2_SIMD_CLONES.

// a if the condition holds, else b. Works on the bits, because compilers turn a choice between
// floats into a branch around arithmetic that may trap.
CAFFE2_INLINE float Select(bool condition, float a, float b) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return __builtin_bit_cast(
      float, (__builtin_bit_cast(uint32_t, a) & mask) | (__builtin_bit_cast(uint32_t, b) & ~mask));
}

// Limits the magnitude of x to `largest` (the bits of a float); NaN stays NaN. Works on the bits,
// like Select.
CAFFE2_INLINE float LimitMagnitude(float x, int32_t largest) {
  const int32_t bits = __builtin_bit_cast(int32_t, x), magnitude = bits & 0x7fffffff;
  const bool limit = magnitude > largest && magnitude <= 0x7f800000;
  return __builtin_bit_cast(float, limit ? (bits & ~0x7fffffff) | largest : bits);
}

// x = n ln 2 + r with |r| <= ln 2 / 2, and e^r = 1 + r + r^2 q, by a Taylor polynomial of degree 7.
struct ExpParts {
  int32_t n;
  float r, q;
};
CAFFE2_INLINE ExpParts SplitExponent(float x) {
  constexpr float kRound = 12582912.f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float q = 1.f / 5040;
  q = q * r + 1.f / 720;
  q = q * r + 1.f / 120;
  q = q * r + 1.f / 24;
  q = q * r + 1.f / 6;
  q = q * r + 0.5f;
  return {__builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kRound), r, q};
}

// e^x within 2 units in the last place; 0 and infinity beyond the range, NaN for NaN.
CAFFE2_INLINE float Exp(float x) {
  const ExpParts e = SplitExponent(LimitMagnitude(x, 0x42d00000));  // 104
  const float p = (e.q * e.r + 1.f) * e.r + 1.f;
  // 2^n in two factors: n reaches beyond the exponents of normal numbers.
  const int32_t half = e.n >> 1;
  return p * __builtin_bit_cast(float, (half + 127) << 23) *
         __builtin_bit_cast(float, (e.n - half + 127) << 23);
}

// e^x - 1 within 2 units in the last place, near zero too: 2^n (e^r - 1) + (2^n - 1).
CAFFE2_INLINE float Expm1(float x) {
  // Below -32 the result is -1, above 89 infinity.
  const bool negative = __builtin_bit_cast(int32_t, x) < 0;
  const ExpParts e = SplitExponent(LimitMagnitude(x, negative ? 0x42000000 : 0x42b20000));
  const float p = e.q * (e.r * e.r) + e.r;
  // Half of 2^n, which is beyond the largest number for n = 128.
  const float half = __builtin_bit_cast(float, (e.n + 126) << 23);
  return 2.f * (half * p + (half - 0.5f));
}

// The natural logarithm within 1 unit in the last place; -infinity for 0, NaN for less and for NaN.
// x = 2^n m with sqrt(1/2) <= m < sqrt(2), then a polynomial in m - 1 (Cephes).
CAFFE2_INLINE float Log(float x) {
  constexpr uint32_t kInfinity = 0x7f800000, kNan = 0x7fc00000, kRootHalf = 0x3f3504f3;
  const auto own = __builtin_bit_cast(uint32_t, x);
  // Makes numbers below the normal ones normal: 2^25 x.
  const uint32_t lift = static_cast<uint32_t>(static_cast<int32_t>(own - 0x00800000) >> 31) & 25;
  const auto bits = __builtin_bit_cast(uint32_t, x * __builtin_bit_cast(float, (127 + lift) << 23));
  const int32_t exponent = static_cast<int32_t>(bits - kRootHalf) >> 23;
  const float n = static_cast<float>(exponent - static_cast<int32_t>(lift));
  const float f = __builtin_bit_cast(float, bits - (static_cast<uint32_t>(exponent) << 23)) - 1.f;
  const float square = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float rest = p * f * square - n * 2.12194440e-4f - 0.5f * square;
  const uint32_t other = own << 1 == 0 ? kInfinity | 0x80000000 : own == kInfinity ? own : kNan;
  return Select(own - 1 < kInfinity - 1, n * 0.693359375f + (f + rest),
                __builtin_bit_cast(float, other));
}

// log(1 + x) within 2 units in the last place, near zero too.
CAFFE2_INLINE float Log1p(float x) {
  const float sum = 1.f + x;
  // Adds the rounding error of the sum, but not to infinities and NaN.
  const float lost = (x - (sum - 1.f)) / sum;
  return Log(sum) + Select(__builtin_bit_cast(uint32_t, sum) - 1 < 0x7f800000u - 1, lost, 0.f);
}

// Within 3 units in the last place.
CAFFE2_INLINE float Tanh(float x) {
  const float e = Expm1(-2.f * std::fabs(x));
  return std::copysign(e / (e + 2.f), x);
}

// The error function within 2 units in the last place: a polynomial near zero, farther out one in
// the exponent of 1 - e^p (after N. Juffa).
CAFFE2_INLINE float Erf(float x) {
  const float t = std::fabs(x), s = x * x;
  float p = -1.72853470e-5f * t + 3.83197126e-4f;
  p = p * s + (-3.88396438e-3f * t + 2.42546219e-2f);
  p = p * t - 1.06777877e-1f;
  p = p * t - 6.34846687e-1f;
  p = p * t - 1.28717512e-1f;
  const float far = std::copysign(1.f - Exp(p * t - t), x);
  float q = -5.96761703e-4f;
  q = q * s + 4.99119423e-3f;
  q = q * s - 2.67681349e-2f;
  q = q * s + 1.12819925e-1f;
  q = q * s - 3.76125336e-1f;
  q = q * s + 1.28379166e-1f;
  const float near = q * x + x;
  return Select(t > 0.927734375f, far, near);
}

// x = quadrant * pi / 2 + r with |r| <= pi / 4, and sine and cosine of r within a float's precision
// (the polynomials of FreeBSD's k_sinf.c and k_cosf.c), if |x| < kMaxAngle.
constexpr float kMaxAngle = 1048576.f;
struct SinCosParts {
  int64_t quadrant;  // modulo 4
  double sin, cos;
};
CAFFE2_INLINE SinCosParts SplitQuadrants(float x) {
  constexpr double kRound = 6755399441055744.;  // 1.5 * 2^52: adding it rounds to an integer
  const double wide = x, shifted = wide * 0.63661977236758134 + kRound, n = shifted - kRound;
  // pi / 2 in two parts, of which the first times n is exact.
  const double r = (wide - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
  const double z = r * r, w = z * z;
  const double sine = r * (1 + z * (-0.166666666416265235595 + z * 0.0083333293858894631756) +
                           z * w * (-0.000198393348360966317347 + z * 0.0000027183114939898219064));
  const double cosine = 1 + z * -0.499999997251031003120 + w * 0.0416666233237390631894 +
                        w * z * (-0.00138867637746099294692 + z * 0.0000243904487962774090654);
  return {__builtin_bit_cast(int64_t, shifted), sine, cosine};
}
// a if the condition holds, else b, negated if bit 1 of `quadrant` is set.
CAFFE2_INLINE double SelectSigned(bool condition, double a, double b, int64_t quadrant) {
  const uint64_t mask = 0u - static_cast<uint64_t>(condition);
  const uint64_t sign = static_cast<uint64_t>(quadrant & 2) << 62;
  return __builtin_bit_cast(double, ((__builtin_bit_cast(uint64_t, a) & mask) |
                                     (__builtin_bit_cast(uint64_t, b) & ~mask)) ^
                                        sign);
}

// Sine, cosine and tangent within 1 unit in the last place if |x| < kMaxAngle, else unspecified.
CAFFE2_INLINE float Sin(float x) {
  const SinCosParts p = SplitQuadrants(x);
  return static_cast<float>(SelectSigned((p.quadrant & 1) != 0, p.cos, p.sin, p.quadrant));
}
CAFFE2_INLINE float Cos(float x) {
  const SinCosParts p = SplitQuadrants(x);
  return static_cast<float>(SelectSigned((p.quadrant & 1) != 0, p.sin, p.cos, p.quadrant + 1));
}
CAFFE2_INLINE float Tan(float x) {
  const SinCosParts p = SplitQuadrants(x);
  const bool odd = (p.quadrant & 1) != 0;
  return static_cast<float>(SelectSigned(odd, p.cos, p.sin, 0) /
                            SelectSigned(odd, p.sin, p.cos, p.quadrant << 1));
}

// The arc tangent within 2 units in the last place: a polynomial in x or, beyond 1, in 1 / x.
CAFFE2_INLINE float Atan(float x) {
  const float t = std::fabs(x), inverse = 1.f / t;
  const bool far = t > 1.f;
  const float r = Select(far, inverse, t), s = r * r;
  float q = -1.7936203e-3f;
  q = q * s + 1.09146e-2f;
  q = q * s - 3.1177834e-2f;
  q = q * s + 5.7957582e-2f;
  q = q * s - 8.4034495e-2f;
  q = q * s + 1.0952186e-1f;
  q = q * s - 1.4264242e-1f;
  q = q * s + 1.9998549e-1f;
  q = q * s - 3.3333299e-1f;
  const float near = r + r * (s * q);
  const float rest = (1.57079637f - near) - 4.37113883e-8f;  // pi / 2 in two parts
  return std::copysign(Select(far, rest, near), x);
}

// The cubic root within 1 unit in the last place: an estimate from the bits, then two steps of
// Halley's method in double (FreeBSD's s_cbrtf.c).
CAFFE2_INLINE float Cbrt(float x) {
  const auto own = __builtin_bit_cast(uint32_t, x), magnitude = own & 0x7fffffff;
  // 2^24 x for numbers below the normal ones.
  const bool tiny = magnitude < 0x00800000;
  const float lifted = std::fabs(x) * (tiny ? 16777216.f : 1.f);
  const uint32_t estimate = __builtin_bit_cast(uint32_t, lifted) / 3 + 709958130;
  const double wide = lifted;
  double t = __builtin_bit_cast(float, estimate);
  double cube = t * t * t;
  t = t * (wide + wide + cube) / (wide + cube + cube);
  cube = t * t * t;
  t = t * (wide + wide + cube) / (wide + cube + cube);
  const float root = static_cast<float>(t) * (tiny ? 0.00390625f : 1.f);
  const bool finite = magnitude - 1 < 0x7f7fffff;  // and not 0
  return Select(finite, std::copysign(root, x), x + x);
}

// The natural logarithm of x from 2^-64 to 1, within 3 units in the last place; unspecified for
// others. x = 2^n m with sqrt(1/2) <= m < sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)) by its
// Taylor polynomial of degree 19.
CAFFE2_INLINE double LogOfPart(double x) {
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto bits = __builtin_bit_cast(uint64_t, x);
  // AVX2 has neither signed shifts nor conversions of 64 bits: n + 64 becomes the last bits of
  // 2^52.
  const uint64_t lifted = (bits - kRootHalf + (uint64_t{64} << 52)) >> 52;
  const double n = __builtin_bit_cast(double, lifted + 0x4330000000000000) - (0x1p52 + 64);
  const double m = __builtin_bit_cast(double, bits - ((lifted - 64) << 52));
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1. / 19;
  p = p * z + 1. / 17;
  p = p * z + 1. / 15;
  p = p * z + 1. / 13;
  p = p * z + 1. / 11;
  p = p * z + 1. / 9;
  p = p * z + 1. / 7;
  p = p * z + 1. / 5;
  p = p * z + 1. / 3;
  return n * 0.693147180559945309417 + 2 * (s + s * z * p);
}

// The cosine of 2 pi part within 11 units in the last place, near its zeros too, if |part| <= 2^48;
// else unspecified. part = quadrant / 4 + rest / 4 exactly, and cosine and sine of the rest by
// their Taylor polynomials of degrees 14 and 15.
CAFFE2_INLINE double CosOfTurn(double part) {
  constexpr double kRound = 6755399441055744.;  // 1.5 * 2^52: adding it rounds to an integer
  const double shifted = 4 * part + kRound, rest = 4 * part - (shifted - kRound);
  const auto quadrant = __builtin_bit_cast(uint64_t, shifted);
  const double r = rest * 1.57079632679489661923, z = r * r;
  double c = -1. / 87178291200;
  c = c * z + 1. / 479001600;
  c = c * z - 1. / 3628800;
  c = c * z + 1. / 40320;
  c = c * z - 1. / 720;
  c = c * z + 1. / 24;
  c = c * z - 1. / 2;
  double s = -1. / 1307674368000;
  s = s * z + 1. / 6227020800;
  s = s * z - 1. / 39916800;
  s = s * z + 1. / 362880;
  s = s * z - 1. / 5040;
  s = s * z + 1. / 120;
  s = s * z - 1. / 6;
  const uint64_t sine = 0 - (quadrant & 1);  // cos(r + pi / 2) = -sin r
  const uint64_t sign = ((quadrant + 1) & 2) << 62;
  const uint64_t bits = (__builtin_bit_cast(uint64_t, r + r * z * s) & sine) |
                        (__builtin_bit_cast(uint64_t, 1 + z * c) & ~sine);
  return __builtin_bit_cast(double, bits ^ sign);
}

}  // namespace caffe2
