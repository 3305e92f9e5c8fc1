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

// Both conversions choose between results instead of branching, so that loops over them vectorize.
inline float ToFloat(float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.x & 0x8000) << 16;
  const auto bits = static_cast<int32_t>((value.x & 0x7fffu) << 13);
  const float subnormal = static_cast<float>(value.x & 0x3ff) * 0x1p-24f;  // or zero
  int32_t magnitude = bits + (112 << 23);
  magnitude = bits >= 0x0f800000 ? bits | 0x7f800000 : magnitude;  // infinity or NaN
  magnitude = bits < 0x00800000 ? std::bit_cast<int32_t>(subnormal) : magnitude;
  return std::bit_cast<float>(sign | static_cast<uint32_t>(magnitude));
}

inline float16 ToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const auto magnitude = static_cast<int32_t>(bits & 0x7fffffff);
  // Subnormal: adding 0.5 aligns the fraction so that the hardware rounds to nearest even.
  const int32_t aligned =
      std::bit_cast<int32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  int32_t result = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  result = magnitude < 0x38800000 ? aligned : result;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;  // rounds to infinity
  result = magnitude > 0x7f800000 ? 0x7e00 : result;   // NaN
  return {static_cast<uint16_t>(sign | static_cast<uint32_t>(result))};
}

}  // namespace caffe2
