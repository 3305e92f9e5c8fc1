#include "caffe2/utils/winograd_transforms.h"

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

// Like Store, for values whose lower half is zero if they are NaN: values that come from bfloat16
// or from sums of bfloat16.
CAFFE2_INLINE void Round(float value, bfloat16* to) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  to->x = static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// max(value, 0); NaN stays NaN. A mask, because loops with a conditional move before a rounding do
// not vectorise.
CAFFE2_INLINE float ZeroIfNegative(float value) {
  const uint32_t keep = static_cast<uint32_t>(value < 0) - 1;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) & keep);
}

// 16 planes to 2 x 2 pixels.
template <bool kAdd, bool kRelu>
CAFFE2_INLINE void FinishTile(const float* from, int64_t plane, int64_t channels, const float* bias,
                              bfloat16* const* pixels) {
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[2][4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const float m0 = from[x * plane + c], m1 = from[(4 + x) * plane + c];
      const float m2 = from[(8 + x) * plane + c], m3 = from[(12 + x) * plane + c];
      t[0][x] = m0 + m1 + m2;
      t[1][x] = m1 - m2 - m3;
    }
#pragma GCC unroll 2
    for (int y = 0; y < 2; ++y) {
      float left = t[y][0] + t[y][1] + t[y][2] + bias[c];
      float right = t[y][1] - t[y][2] - t[y][3] + bias[c];
      if constexpr (kAdd) {
        left += Widen(pixels[2 * y][c]);
        right += Widen(pixels[2 * y + 1][c]);
      }
      if constexpr (kRelu) {
        left = ZeroIfNegative(left);
        right = ZeroIfNegative(right);
      }
      Store(left, &pixels[2 * y][c]);
      Store(right, &pixels[2 * y + 1][c]);
    }
  }
}

}  // namespace

CAFFE2_SIMD_CLONES void TransformInput(const bfloat16* const* pixels, int64_t channels,
                                       int64_t plane, bfloat16* to) {
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[4][4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const float d0 = Widen(pixels[x][c]), d1 = Widen(pixels[4 + x][c]);
      const float d2 = Widen(pixels[8 + x][c]), d3 = Widen(pixels[12 + x][c]);
      t[0][x] = d0 - d2;
      t[1][x] = d1 + d2;
      t[2][x] = d2 - d1;
      t[3][x] = d1 - d3;
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      Round(t[y][0] - t[y][2], &to[(4 * y + 0) * plane + c]);
      Round(t[y][1] + t[y][2], &to[(4 * y + 1) * plane + c]);
      Round(t[y][2] - t[y][1], &to[(4 * y + 2) * plane + c]);
      Round(t[y][1] - t[y][3], &to[(4 * y + 3) * plane + c]);
    }
  }
}

CAFFE2_SIMD_CLONES void TransformOutputGradient(const bfloat16* const* pixels, int64_t channels,
                                                int64_t plane, bfloat16* to) {
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[4][2];
#pragma GCC unroll 2
    for (int x = 0; x < 2; ++x) {
      const float top = Widen(pixels[x][c]), bottom = Widen(pixels[2 + x][c]);
      t[0][x] = top;
      t[1][x] = top + bottom;
      t[2][x] = top - bottom;
      t[3][x] = -bottom;
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      Round(t[y][0], &to[(4 * y + 0) * plane + c]);
      Round(t[y][0] + t[y][1], &to[(4 * y + 1) * plane + c]);
      Round(t[y][0] - t[y][1], &to[(4 * y + 2) * plane + c]);
      Round(-t[y][1], &to[(4 * y + 3) * plane + c]);
    }
  }
}

CAFFE2_SIMD_CLONES void TransformOutput(const float* from, int64_t plane, int64_t channels,
                                        const WinogradEpilogue& epilogue, bfloat16* const* pixels) {
  const float* bias = epilogue.bias;
  if (epilogue.add) {
    if (epilogue.relu) {
      FinishTile<true, true>(from, plane, channels, bias, pixels);
    } else {
      FinishTile<true, false>(from, plane, channels, bias, pixels);
    }
  } else if (epilogue.relu) {
    FinishTile<false, true>(from, plane, channels, bias, pixels);
  } else {
    FinishTile<false, false>(from, plane, channels, bias, pixels);
  }
}

CAFFE2_SIMD_CLONES void TransformFilter(const float* filter, int64_t step, int64_t channels,
                                        int64_t plane, bfloat16* to) {
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[4][3];
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      const float g0 = filter[x * step + c], g1 = filter[(3 + x) * step + c];
      const float g2 = filter[(6 + x) * step + c];
      t[0][x] = g0;
      t[1][x] = 0.5f * (g0 + g1 + g2);
      t[2][x] = 0.5f * (g0 - g1 + g2);
      t[3][x] = g2;
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      Store(t[y][0], &to[(4 * y + 0) * plane + c]);
      Store(0.5f * (t[y][0] + t[y][1] + t[y][2]), &to[(4 * y + 1) * plane + c]);
      Store(0.5f * (t[y][0] - t[y][1] + t[y][2]), &to[(4 * y + 2) * plane + c]);
      Store(t[y][2], &to[(4 * y + 3) * plane + c]);
    }
  }
}

CAFFE2_SIMD_CLONES void TransformFilterGradient(const float* from, int64_t plane, int64_t channels,
                                                float* to) {
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[3][4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const float u0 = from[x * plane + c], u1 = from[(4 + x) * plane + c];
      const float u2 = from[(8 + x) * plane + c], u3 = from[(12 + x) * plane + c];
      t[0][x] = u0 + 0.5f * (u1 + u2);
      t[1][x] = 0.5f * (u1 - u2);
      t[2][x] = 0.5f * (u1 + u2) + u3;
    }
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) {
      to[(3 * y + 0) * channels + c] = t[y][0] + 0.5f * (t[y][1] + t[y][2]);
      to[(3 * y + 1) * channels + c] = 0.5f * (t[y][1] - t[y][2]);
      to[(3 * y + 2) * channels + c] = 0.5f * (t[y][1] + t[y][2]) + t[y][3];
    }
  }
}

CAFFE2_SIMD_CLONES void AddRow(int64_t n, const float* from, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

CAFFE2_SIMD_CLONES void AddRow(int64_t n, const bfloat16* from, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] += Widen(from[i]);
}

}  // namespace caffe2
