// Parts of images and of the parameters of their channels, which the loops of spatial_bn_kernels.cc
// and spatial_bn_sums.cc share.
#pragma once

#include <cstdint>

#include "caffe2/utils/simd.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

constexpr int64_t kNormGrain = 1 << 14;  // elements per thread

// A parameter for a run of elements: one for each channel (NHWC) or one for all elements (NCHW).
struct Each {
  const float* values;
  CAFFE2_INLINE float operator[](int64_t i) const { return values[i]; }
};
struct Same {
  float value;
  CAFFE2_INLINE float operator[](int64_t) const { return value; }
};
struct Zero {
  CAFFE2_INLINE float operator[](int64_t) const { return 0; }
};

// NHWC: `rows` rows of `width` channels. NCHW: one row of `width` elements of one channel.
struct Span {
  int64_t rows;
  int64_t width;
  bool one_channel;
  int64_t channels() const { return one_channel ? 1 : width; }
};

// g if t > 0, else 0. With a comparison GCC reads g under a mask. Such a read waits for t, and
// passes over large images took up to a third longer (AMD EPYC, Zen 5).
CAFFE2_INLINE float IfPositive(float t, float g) {
  // Of t <= 0 or NaN, one of the two numbers is negative: zero and most negatives by the first.
  const uint32_t before = __builtin_bit_cast(uint32_t, t) - 1;
  constexpr uint32_t kPastInfinity = 0x80000000 - 0x7f800000;
  const auto sign = static_cast<int32_t>(before | (before + kPastInfinity));
  return __builtin_bit_cast(float, __builtin_bit_cast(int32_t, g) & ~(sign >> 31));
}

// The gradient's inputs from element `offset` of channel `channel` on.
template <typename T>
NormalizeGradient<T> At(NormalizeGradient<T> in, int64_t offset, int64_t channel) {
  in.x += offset;
  in.dy += offset;
  in.mean += channel;
  if (in.scale != nullptr) in.scale += channel;
  if (in.bias != nullptr) in.bias += channel;
  if (in.y != nullptr) in.y += offset;
  return in;
}

}  // namespace caffe2
