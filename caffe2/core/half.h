// The 16-bit floating-point types: their bits, and conversion to and from float with round to
// nearest even. Arithmetic is done in float. Like float they are trivial types: {} is zero, and an
// element that was never written is undefined.
#pragma once

#include <bit>
#include <cstdint>

namespace caffe2 {

// IEEE 754 binary16.
struct float16 {
  uint16_t x;
};

// The upper half of a float: 8 exponent bits, 7 fraction bits.
struct bfloat16 {
  uint16_t x;
};

inline bool operator==(float16 a, float16 b) { return a.x == b.x; }
inline bool operator==(bfloat16 a, bfloat16 b) { return a.x == b.x; }

inline float ToFloat(bfloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.x) << 16);
}

inline bfloat16 ToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>((bits >> 16) | 0x40)};  // NaN
  bits += 0x7fff + ((bits >> 16) & 1);
  return {static_cast<uint16_t>(bits >> 16)};
}

inline float ToFloat(float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.x & 0x8000) << 16;
  const uint32_t exponent = (value.x >> 10) & 0x1f;
  const uint32_t fraction = value.x & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // zero or subnormal
  return sign ? -magnitude : magnitude;
}

inline float16 ToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};   // NaN
  if (magnitude >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds to infinity
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 aligns the fraction so that the hardware rounds to nearest even.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000))};
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

}  // namespace caffe2
