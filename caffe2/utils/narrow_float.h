// Conversion between float and 16-bit elements in loops that compute in float. Written without
// branches, so that the loops vectorise (utils/simd.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "caffe2/core/half.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {

template <typename T>
inline constexpr bool kIs16Bit = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// The type in which arithmetic on an element type is done: float for the 16-bit types, the type
// itself otherwise. Widen converts to it, and Narrow back.
template <typename T>
using ArithmeticType = std::conditional_t<kIs16Bit<T>, float, T>;

template <typename T>
CAFFE2_INLINE ArithmeticType<T> Widen(T value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat(value);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(value.x) << 16);
  } else {
    return value;
  }
}

// Rounds to nearest even; NaN stays NaN.
template <typename T>
CAFFE2_INLINE T Narrow(ArithmeticType<T> value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat16(value);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    const auto bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    return {static_cast<uint16_t>((value != value ? bits | 0x400000 : rounded) >> 16)};
  } else {
    return value;
  }
}
template <typename T>
CAFFE2_INLINE void Store(float value, T* to) {
  *to = Narrow<T>(value);
}

// to[i] = from[i]: WidenRow exactly, NarrowRow rounded to nearest even. The arrays must not
// overlap.
void WidenRow(int64_t n, const bfloat16* from, float* to);
void WidenRow(int64_t n, const float16* from, float* to);
void NarrowRow(int64_t n, const float* from, bfloat16* to);
void NarrowRow(int64_t n, const float* from, float16* to);

}  // namespace caffe2
