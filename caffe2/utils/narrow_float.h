// Conversion between float and 16-bit elements in loops that compute in float. Written without
// branches, so that the loops vectorise (utils/simd.h).
#pragma once

#include <cstdint>

#include "caffe2/core/half.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {

CAFFE2_INLINE float Widen(float value) { return value; }
CAFFE2_INLINE float Widen(bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.x) << 16);
}

CAFFE2_INLINE void Store(float value, float* to) { *to = value; }
CAFFE2_INLINE void Store(float value, float16* to) { *to = ToFloat16(value); }
// Like ToBFloat16: rounds to nearest even; NaN stays NaN.
CAFFE2_INLINE void Store(float value, bfloat16* to) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  to->x = static_cast<uint16_t>((value != value ? bits | 0x400000 : rounded) >> 16);
}

// to[i] = from[i]: WidenRow exactly, NarrowRow rounded to nearest even. The arrays must not
// overlap.
void WidenRow(int64_t n, const bfloat16* from, float* to);
void WidenRow(int64_t n, const float16* from, float* to);
void NarrowRow(int64_t n, const float* from, bfloat16* to);
void NarrowRow(int64_t n, const float* from, float16* to);

}  // namespace caffe2
