#include "caffe2/utils/winograd_transforms.h"

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/winograd_vectors.h"

namespace caffe2 {
namespace {

// In the upper half, `value` rounded to bfloat16, for values as Round takes them.
CAFFE2_INLINE uint32_t RoundUpper(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  return bits + 0x7fff + ((bits >> 16) & 1);
}
// Like Store, for values whose lower half is zero if they are NaN: values that come from bfloat16
// or from sums of bfloat16.
CAFFE2_INLINE void Round(float value, bfloat16* to) {
  to->x = static_cast<uint16_t>(RoundUpper(value) >> 16);
}
CAFFE2_INLINE void Round(float value, float* to) { *to = value; }

// max(value, 0); NaN stays NaN. A mask, because loops with a conditional move before a rounding do
// not vectorise.
CAFFE2_INLINE float ZeroIfNegative(float value) {
  const uint32_t keep = static_cast<uint32_t>(value < 0) - 1;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) & keep);
}

// The transforms of a row or column: products with the matrices B^T, A, A^T, G and G^T.
template <int kOut>
struct Matrices;

template <>
struct Matrices<2> {
  static CAFFE2_INLINE void Input(const float (&d)[4], float (&t)[4]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[1] - d[3];
  }
  static CAFFE2_INLINE void OutputGradient(const float (&d)[2], float (&t)[4]) {
    t[0] = d[0];
    t[1] = d[0] + d[1];
    t[2] = d[0] - d[1];
    t[3] = -d[1];
  }
  static CAFFE2_INLINE void Output(const float (&m)[4], float (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
  static CAFFE2_INLINE void Filter(const float (&g)[3], float (&u)[4]) {
    u[0] = g[0];
    u[1] = 0.5f * (g[0] + g[1] + g[2]);
    u[2] = 0.5f * (g[0] - g[1] + g[2]);
    u[3] = g[2];
  }
  static CAFFE2_INLINE void FilterGradient(const float (&u)[4], float (&g)[3]) {
    g[0] = u[0] + 0.5f * (u[1] + u[2]);
    g[1] = 0.5f * (u[1] - u[2]);
    g[2] = 0.5f * (u[1] + u[2]) + u[3];
  }
};

// The polynomials of F(4x4, 3x3) are taken at 0, kNear, -kNear, kFar, -kFar and infinity. At 5 / 8
// and 3 / 2 rounding errors are half as large as at 1 and 2.
template <>
struct Matrices<4> {
  static constexpr float kNear = 0.625f, kFar = 1.5f;
  static constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;
  // The factors of filters at 0, at both near points and at both far ones.
  static constexpr float kAt0 = 1 / (kNear2 * kFar2);
  static constexpr float kAtNear = 1 / (2 * kNear2 * (kNear2 - kFar2));
  static constexpr float kAtFar = 1 / (2 * kFar2 * (kFar2 - kNear2));

  static CAFFE2_INLINE void Input(const float (&d)[6], float (&t)[6]) {
    const float near_even = d[4] - kFar2 * d[2], near_odd = kNear * (d[3] - kFar2 * d[1]);
    const float far_even = d[4] - kNear2 * d[2], far_odd = kFar * (d[3] - kNear2 * d[1]);
    t[0] = kNear2 * kFar2 * d[0] - (kNear2 + kFar2) * d[2] + d[4];
    t[1] = near_even + near_odd;
    t[2] = near_even - near_odd;
    t[3] = far_even + far_odd;
    t[4] = far_even - far_odd;
    t[5] = kNear2 * kFar2 * d[1] - (kNear2 + kFar2) * d[3] + d[5];
  }
  static CAFFE2_INLINE void OutputGradient(const float (&d)[4], float (&t)[6]) {
    const float near_even = d[0] + kNear2 * d[2], near_odd = kNear * (d[1] + kNear2 * d[3]);
    const float far_even = d[0] + kFar2 * d[2], far_odd = kFar * (d[1] + kFar2 * d[3]);
    t[0] = d[0];
    t[1] = near_even + near_odd;
    t[2] = near_even - near_odd;
    t[3] = far_even + far_odd;
    t[4] = far_even - far_odd;
    t[5] = d[3];
  }
  static CAFFE2_INLINE void Output(const float (&m)[6], float (&y)[4]) {
    const float near_even = m[1] + m[2], near_odd = kNear * (m[1] - m[2]);
    const float far_even = m[3] + m[4], far_odd = kFar * (m[3] - m[4]);
    y[0] = m[0] + near_even + far_even;
    y[1] = near_odd + far_odd;
    y[2] = kNear2 * near_even + kFar2 * far_even;
    y[3] = kNear2 * near_odd + kFar2 * far_odd + m[5];
  }
  static CAFFE2_INLINE void Filter(const float (&g)[3], float (&u)[6]) {
    const float near_even = kAtNear * (g[0] + kNear2 * g[2]), near_odd = kAtNear * kNear * g[1];
    const float far_even = kAtFar * (g[0] + kFar2 * g[2]), far_odd = kAtFar * kFar * g[1];
    u[0] = kAt0 * g[0];
    u[1] = near_even + near_odd;
    u[2] = near_even - near_odd;
    u[3] = far_even + far_odd;
    u[4] = far_even - far_odd;
    u[5] = g[2];
  }
  static CAFFE2_INLINE void FilterGradient(const float (&u)[6], float (&g)[3]) {
    const float near_even = kAtNear * (u[1] + u[2]), far_even = kAtFar * (u[3] + u[4]);
    g[0] = kAt0 * u[0] + near_even + far_even;
    g[1] = kAtNear * kNear * (u[1] - u[2]) + kAtFar * kFar * (u[3] - u[4]);
    g[2] = kNear2 * near_even + kFar2 * far_even + u[5];
  }
};

// Channel c of a tile's pixels.
template <typename Pixel>
struct ChannelOf {
  const Pixel* const* pixels;
  int64_t c;
  CAFFE2_INLINE float operator()(int i) const { return Widen(pixels[i][c]); }
};

// The transforms of a tile whose pixel i is pixel(i).
template <int m, typename GetPixel>
CAFFE2_INLINE void InputOf(const GetPixel& pixel, float (&result)[m + 2][m + 2]) {
  constexpr int n = m + 2;
  float t[n][n];
#pragma GCC unroll 6
  for (int x = 0; x < n; ++x) {
    float d[n], column[n];
#pragma GCC unroll 6
    for (int y = 0; y < n; ++y) d[y] = pixel(n * y + x);
    Matrices<m>::Input(d, column);
#pragma GCC unroll 6
    for (int y = 0; y < n; ++y) t[y][x] = column[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < n; ++y) Matrices<m>::Input(t[y], result[y]);
}
template <int m, typename GetPixel>
CAFFE2_INLINE void OutputGradientOf(const GetPixel& pixel, float (&result)[m + 2][m + 2]) {
  constexpr int n = m + 2;
  float t[n][m];
#pragma GCC unroll 4
  for (int x = 0; x < m; ++x) {
    float d[m], column[n];
#pragma GCC unroll 4
    for (int y = 0; y < m; ++y) d[y] = pixel(m * y + x);
    Matrices<m>::OutputGradient(d, column);
#pragma GCC unroll 6
    for (int y = 0; y < n; ++y) t[y][x] = column[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < n; ++y) Matrices<m>::OutputGradient(t[y], result[y]);
}
struct InputTransform {
  template <typename GetPixel>
  static CAFFE2_INLINE void Run(const GetPixel& pixel, float (&result)[4][4]) {
    InputOf<2>(pixel, result);
  }
};
struct OutputGradientTransform {
  template <typename GetPixel>
  static CAFFE2_INLINE void Run(const GetPixel& pixel, float (&result)[4][4]) {
    OutputGradientOf<2>(pixel, result);
  }
};

template <typename Pixel>
CAFFE2_INLINE void InputTile(const Pixel* const* pixels, int64_t channels, int64_t plane,
                             Pixel* to) {
  constexpr int n = WinogradTile<Pixel>::kIn;
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[n][n];
    InputOf<n - 2>(ChannelOf<Pixel>{pixels, c}, t);
#pragma GCC unroll 6
    for (int y = 0; y < n; ++y) {
#pragma GCC unroll 6
      for (int x = 0; x < n; ++x) Round(t[y][x], &to[(n * y + x) * plane + c]);
    }
  }
}

struct FloatInput {
  template <typename GetPixel>
  static CAFFE2_INLINE void Run(const GetPixel& pixel, float (&result)[6][6]) {
    InputOf<4>(pixel, result);
  }
};
struct FloatOutputGradient {
  template <typename GetPixel>
  static CAFFE2_INLINE void Run(const GetPixel& pixel, float (&result)[6][6]) {
    OutputGradientOf<4>(pixel, result);
  }
};

// Two rows of planes, whose sums have parts in common, of a strip. All rows at once need more
// registers than there are.
template <typename Transform, int kFirst, int kSecond>
CAFFE2_INLINE void FloatRows(const float* const* pixels, int64_t first, int64_t plane, float* to) {
  constexpr int n = 6;
#pragma omp simd
  for (int64_t c = 0; c < kPanel; ++c) {
    float t[n][n];
    Transform::Run(ChannelOf<float>{pixels, first + c}, t);
#pragma GCC unroll 6
    for (int x = 0; x < n; ++x) {
      to[(n * kFirst + x) * plane + c] = t[kFirst][x];
      to[(n * kSecond + x) * plane + c] = t[kSecond][x];
    }
  }
}
template <typename Transform>
CAFFE2_INLINE void FloatStrips(const float* const* pixels, int64_t channels, int64_t strip,
                               int64_t plane, float* to) {
  for (int64_t first = 0; first < channels; first += kPanel, to += strip) {
    FloatRows<Transform, 0, 5>(pixels, first, plane, to);
    FloatRows<Transform, 1, 2>(pixels, first, plane, to);
    FloatRows<Transform, 3, 4>(pixels, first, plane, to);
  }
}

template <typename Transform, int kRow>
CAFFE2_INLINE void TransformPairRow(const bfloat16* const* even, const bfloat16* const* odd,
                                    int64_t channels, int64_t plane, BFloat16Pair* to) {
  for (int64_t first = 0; first < channels; first += kPanel, to += kPanelStep) {
    const int64_t columns = channels - first < kPanel ? channels - first : kPanel;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      float lower[4][4], upper[4][4];
      Transform::Run(ChannelOf<bfloat16>{even, first + c}, lower);
      Transform::Run(ChannelOf<bfloat16>{odd, first + c}, upper);
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        to[x * plane + c].bits =
            RoundUpper(lower[kRow][x]) >> 16 | (RoundUpper(upper[kRow][x]) & 0xffff0000);
      }
    }
  }
}
template <typename Transform>
CAFFE2_INLINE void TransformPair(int64_t row, const bfloat16* const* even,
                                 const bfloat16* const* odd, int64_t channels, int64_t plane,
                                 BFloat16Pair* to) {
  switch (row) {
    case 0:
      return TransformPairRow<Transform, 0>(even, odd, channels, plane, to);
    case 1:
      return TransformPairRow<Transform, 1>(even, odd, channels, plane, to);
    case 2:
      return TransformPairRow<Transform, 2>(even, odd, channels, plane, to);
    default:
      return TransformPairRow<Transform, 3>(even, odd, channels, plane, to);
  }
}

CAFFE2_SIMD_CLONES void InputStripsByParts(const bfloat16* const* pixels, int64_t channels,
                                           int64_t strip, int64_t plane, bfloat16* to) {
  constexpr int n = 4;
  for (int64_t first = 0; first < channels; first += kPanel, to += strip) {
    const int64_t columns = channels - first < kPanel ? channels - first : kPanel;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      float t[n][n];
      InputOf<2>(ChannelOf<bfloat16>{pixels, first + c}, t);
#pragma GCC unroll 4
      for (int y = 0; y < n; ++y) {
#pragma GCC unroll 4
        for (int x = 0; x < n; ++x) Round(t[y][x], &to[(n * y + x) * plane + c]);
      }
    }
    for (int64_t p = 0; p < n * n && columns < kPanel; ++p) {
      for (int64_t c = columns; c < kPanel; ++c) to[p * plane + c] = bfloat16{};
    }
  }
}
CAFFE2_SIMD_CLONES void InputPairByParts(int64_t row, const bfloat16* const* even,
                                         const bfloat16* const* odd, int64_t channels,
                                         int64_t plane, BFloat16Pair* to) {
  TransformPair<InputTransform>(row, even, odd, channels, plane, to);
}
CAFFE2_SIMD_CLONES void OutputGradientPairByParts(int64_t row, const bfloat16* const* even,
                                                  const bfloat16* const* odd, int64_t channels,
                                                  int64_t plane, BFloat16Pair* to) {
  TransformPair<OutputGradientTransform>(row, even, odd, channels, plane, to);
}

template <bool kAdd, bool kRelu, typename Pixel>
CAFFE2_INLINE void FinishTile(const float* from, int64_t plane, int64_t channels, const float* bias,
                              Pixel* const* pixels) {
  constexpr int m = WinogradTile<Pixel>::kOut, n = WinogradTile<Pixel>::kIn;
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[m][n];
#pragma GCC unroll 6
    for (int x = 0; x < n; ++x) {
      float products[n], column[m];
#pragma GCC unroll 6
      for (int y = 0; y < n; ++y) products[y] = from[(n * y + x) * plane + c];
      Matrices<m>::Output(products, column);
#pragma GCC unroll 4
      for (int y = 0; y < m; ++y) t[y][x] = column[y];
    }
#pragma GCC unroll 4
    for (int y = 0; y < m; ++y) {
      float row[m];
      Matrices<m>::Output(t[y], row);
#pragma GCC unroll 4
      for (int x = 0; x < m; ++x) {
        float value = row[x] + bias[c];
        if constexpr (kAdd) value += Widen(pixels[m * y + x][c]);
        if constexpr (kRelu) value = ZeroIfNegative(value);
        Store(value, &pixels[m * y + x][c]);
      }
    }
  }
}

template <typename Pixel>
CAFFE2_INLINE void OutputTile(const float* from, int64_t plane, int64_t channels,
                              const WinogradEpilogue& epilogue, Pixel* const* pixels) {
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

template <typename Pixel>
CAFFE2_INLINE void FilterTile(const float* filter, int64_t step, int64_t channels, int64_t plane,
                              Pixel* to) {
  constexpr int n = WinogradTile<Pixel>::kIn;
  using M = Matrices<WinogradTile<Pixel>::kOut>;
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[n][3];
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      const float g[3] = {filter[x * step + c], filter[(3 + x) * step + c],
                          filter[(6 + x) * step + c]};
      float column[n];
      M::Filter(g, column);
#pragma GCC unroll 6
      for (int y = 0; y < n; ++y) t[y][x] = column[y];
    }
#pragma GCC unroll 6
    for (int y = 0; y < n; ++y) {
      float row[n];
      M::Filter(t[y], row);
#pragma GCC unroll 6
      for (int x = 0; x < n; ++x) Store(row[x], &to[(n * y + x) * plane + c]);
    }
  }
}

template <typename Pixel>
CAFFE2_INLINE void FilterGradientTile(const float* from, int64_t plane, int64_t channels,
                                      float* to) {
  constexpr int n = WinogradTile<Pixel>::kIn;
  using M = Matrices<WinogradTile<Pixel>::kOut>;
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[3][n];
#pragma GCC unroll 6
    for (int x = 0; x < n; ++x) {
      float u[n], column[3];
#pragma GCC unroll 6
      for (int y = 0; y < n; ++y) u[y] = from[(n * y + x) * plane + c];
      M::FilterGradient(u, column);
#pragma GCC unroll 3
      for (int y = 0; y < 3; ++y) t[y][x] = column[y];
    }
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) {
      float row[3];
      M::FilterGradient(t[y], row);
#pragma GCC unroll 3
      for (int x = 0; x < 3; ++x) to[(3 * y + x) * channels + c] = row[x];
    }
  }
}

CAFFE2_SIMD_CLONES void OutputByParts(const float* from, int64_t plane, int64_t channels,
                                      const WinogradEpilogue& epilogue, bfloat16* const* pixels) {
  OutputTile(from, plane, channels, epilogue, pixels);
}
CAFFE2_SIMD_CLONES void FilterByParts(const float* filter, int64_t step, int64_t channels,
                                      int64_t plane, bfloat16* to) {
  FilterTile(filter, step, channels, plane, to);
}

}  // namespace

CAFFE2_SIMD_CLONES void TransformInput(const float* const* pixels, int64_t channels, int64_t plane,
                                       float* to) {
  InputTile(pixels, channels, plane, to);
}

CAFFE2_SIMD_CLONES void TransformOutputGradient(const float* const* pixels, int64_t channels,
                                                int64_t plane, float* to) {
  constexpr int m = WinogradTile<float>::kOut, n = m + 2;
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    float t[n][n];
    OutputGradientOf<m>(ChannelOf<float>{pixels, c}, t);
#pragma GCC unroll 6
    for (int y = 0; y < n; ++y) {
#pragma GCC unroll 6
      for (int x = 0; x < n; ++x) to[(n * y + x) * plane + c] = t[y][x];
    }
  }
}

CAFFE2_SIMD_CLONES void TransformInputStrips(const float* const* pixels, int64_t channels,
                                             int64_t strip, int64_t plane, float* to) {
  FloatStrips<FloatInput>(pixels, channels, strip, plane, to);
}
CAFFE2_SIMD_CLONES void TransformOutputGradientStrips(const float* const* pixels, int64_t channels,
                                                      int64_t strip, int64_t plane, float* to) {
  FloatStrips<FloatOutputGradient>(pixels, channels, strip, plane, to);
}

void TransformInputStrips(const bfloat16* const* pixels, int64_t channels, int64_t strip,
                          int64_t plane, bfloat16* to) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (onednn::HasPairInstruction())
    return InputStripsByInstruction(pixels, channels, strip, plane, to);
#endif
  InputStripsByParts(pixels, channels, strip, plane, to);
}

void TransformInputPair(int64_t row, const bfloat16* const* even, const bfloat16* const* odd,
                        int64_t channels, int64_t plane, BFloat16Pair* to) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (onednn::HasPairInstruction()) {
    return InputPairByInstruction(row, even, odd, channels, plane, to);
  }
#endif
  InputPairByParts(row, even, odd, channels, plane, to);
}
void TransformOutputGradientPair(int64_t row, const bfloat16* const* even,
                                 const bfloat16* const* odd, int64_t channels, int64_t plane,
                                 BFloat16Pair* to) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (onednn::HasPairInstruction()) {
    return OutputGradientPairByInstruction(row, even, odd, channels, plane, to);
  }
#endif
  OutputGradientPairByParts(row, even, odd, channels, plane, to);
}

void TransformOutput(const float* from, int64_t plane, int64_t channels,
                     const WinogradEpilogue& epilogue, bfloat16* const* pixels) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (onednn::HasPairInstruction()) {
    return OutputByInstruction(from, plane, channels, epilogue, pixels);
  }
#endif
  OutputByParts(from, plane, channels, epilogue, pixels);
}
CAFFE2_SIMD_CLONES void TransformOutput(const float* from, int64_t plane, int64_t channels,
                                        const WinogradEpilogue& epilogue, float* const* pixels) {
  OutputTile(from, plane, channels, epilogue, pixels);
}

void TransformFilter(const float* filter, int64_t step, int64_t channels, int64_t plane,
                     bfloat16* to) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (onednn::HasPairInstruction()) return FilterByInstruction(filter, step, channels, plane, to);
#endif
  FilterByParts(filter, step, channels, plane, to);
}
CAFFE2_SIMD_CLONES void TransformFilter(const float* filter, int64_t step, int64_t channels,
                                        int64_t plane, float* to) {
  FilterTile(filter, step, channels, plane, to);
}

template <>
CAFFE2_SIMD_CLONES void TransformFilterGradient<bfloat16>(const float* from, int64_t plane,
                                                          int64_t channels, float* to) {
  FilterGradientTile<bfloat16>(from, plane, channels, to);
}
template <>
CAFFE2_SIMD_CLONES void TransformFilterGradient<float>(const float* from, int64_t plane,
                                                       int64_t channels, float* to) {
  FilterGradientTile<float>(from, plane, channels, to);
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
