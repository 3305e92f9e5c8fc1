#include "caffe2/utils/winograd_vectors.h"

#if defined(CAFFE2_PAIR_INSTRUCTION)
#include "caffe2/utils/intrinsics.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

constexpr int64_t kVectorFloats = 16;

// kPanel channels of a pixel, from c on, as float. Channels that `mask` leaves out are 0.
struct PixelVectors {
  __m512 even, odd;  // channels c, c + 2, ... and c + 1, c + 3, ...
};
CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE PixelVectors LoadChannels(const bfloat16* pixel, int64_t c,
                                                                __mmask32 mask) {
  const __m512i pairs = _mm512_maskz_loadu_epi16(mask, pixel + c);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
          _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(0xffff0000)))};
}

// The matrices of winograd_transforms.cc for m = 2.
struct InputVectors {
  static constexpr int kPixels = 4;
  CAFFE2_PAIR_INSTRUCTION static CAFFE2_INLINE void Run(const __m512* d, __m512* t) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[1] - d[3];
  }
};
struct OutputGradientVectors {
  static constexpr int kPixels = 2;
  CAFFE2_PAIR_INSTRUCTION static CAFFE2_INLINE void Run(const __m512* d, __m512* t) {
    t[0] = d[0];
    t[1] = d[0] + d[1];
    t[2] = d[0] - d[1];
    t[3] = -d[1];
  }
};

struct OutputVectors {
  CAFFE2_PAIR_INSTRUCTION static CAFFE2_INLINE void Run(const __m512* m, __m512* y) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
};
struct FilterVectors {
  CAFFE2_PAIR_INSTRUCTION static CAFFE2_INLINE void Run(const __m512* g, __m512* u) {
    u[0] = g[0];
    u[1] = 0.5f * (g[0] + g[1] + g[2]);
    u[2] = 0.5f * (g[0] - g[1] + g[2]);
    u[3] = g[2];
  }
};

// Row kRow of a tile's transform: the even channels and the odd ones.
template <typename Matrix, int kRow>
CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE void TransformVectors(const bfloat16* const* pixels,
                                                            int64_t c, __mmask32 mask, __m512* even,
                                                            __m512* odd) {
  constexpr int m = Matrix::kPixels;
  __m512 t_even[m], t_odd[m];
#pragma GCC unroll 4
  for (int x = 0; x < m; ++x) {
    __m512 d_even[m], d_odd[m], column[4];
#pragma GCC unroll 4
    for (int y = 0; y < m; ++y) {
      const PixelVectors pixel = LoadChannels(pixels[m * y + x], c, mask);
      d_even[y] = pixel.even;
      d_odd[y] = pixel.odd;
    }
    Matrix::Run(d_even, column);
    t_even[x] = column[kRow];
    Matrix::Run(d_odd, column);
    t_odd[x] = column[kRow];
  }
  Matrix::Run(t_even, even);
  Matrix::Run(t_odd, odd);
}

CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE __mmask32 MaskOf(int64_t channels) {
  return channels >= kPanel ? 0xffffffff : (uint32_t{1} << channels) - 1;
}

// The numbers of `low`, rounded, and then of `high`.
CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE __m512i RoundVectors(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

template <int kRow>
CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE void InputRow(const bfloat16* const* pixels, int64_t c,
                                                    __mmask32 mask, __m512i order, int64_t plane,
                                                    bfloat16* to) {
  __m512 even[4], odd[4];
  TransformVectors<InputVectors, kRow>(pixels, c, mask, even, odd);
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    _mm512_storeu_si512(to + (4 * kRow + x) * plane,
                        _mm512_permutexvar_epi16(order, RoundVectors(even[x], odd[x])));
  }
}
template <typename Matrix, int kRow>
CAFFE2_PAIR_INSTRUCTION void PairRowByInstruction(const bfloat16* const* even,
                                                  const bfloat16* const* odd, int64_t channels,
                                                  int64_t plane, BFloat16Pair* to) {
  // Words of two vectors: channels 2 j of both tiles, then channels 2 j + 1 of both.
  alignas(64) uint16_t places[2 * kPanel];
  for (int i = 0; i < 2 * kPanel; ++i) {
    places[i] = i / 4 + i % 2 * kVectorFloats + i / 2 % 2 * kPanel;
  }
  const __m512i lower = _mm512_load_si512(places), upper = _mm512_load_si512(places + kPanel);
  for (int64_t first = 0; first < channels; first += kPanel, to += kPanelStep) {
    const __mmask32 mask = MaskOf(channels - first);
    __m512 even_tile[2][4], odd_tile[2][4];
    TransformVectors<Matrix, kRow>(even, first, mask, even_tile[0], even_tile[1]);
    TransformVectors<Matrix, kRow>(odd, first, mask, odd_tile[0], odd_tile[1]);
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const __m512i even_channels = RoundVectors(even_tile[0][x], odd_tile[0][x]);
      const __m512i odd_channels = RoundVectors(even_tile[1][x], odd_tile[1][x]);
      _mm512_storeu_si512(to + x * plane,
                          _mm512_permutex2var_epi16(even_channels, lower, odd_channels));
      _mm512_storeu_si512(to + x * plane + kVectorFloats,
                          _mm512_permutex2var_epi16(even_channels, upper, odd_channels));
    }
  }
}
template <typename Matrix>
void PairByInstruction(int64_t row, const bfloat16* const* even, const bfloat16* const* odd,
                       int64_t channels, int64_t plane, BFloat16Pair* to) {
  constexpr decltype(&PairRowByInstruction<Matrix, 0>) kRows[] = {
      PairRowByInstruction<Matrix, 0>, PairRowByInstruction<Matrix, 1>,
      PairRowByInstruction<Matrix, 2>, PairRowByInstruction<Matrix, 3>};
  kRows[row](even, odd, channels, plane, to);
}
// 16 of the channels of a tile's m x m results before they are rounded. Channels that `mask` leaves
// out are 0.
template <bool kAdd, bool kRelu>
CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE void FinishVectors(const float* from, int64_t plane,
                                                         __mmask16 mask, const float* bias,
                                                         bfloat16* const* pixels, int64_t c,
                                                         __m512* values) {
  __m512 top[4], bottom[4];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    __m512 products[4], column[2];
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      products[y] = _mm512_maskz_loadu_ps(mask, from + (4 * y + x) * plane + c);
    }
    OutputVectors::Run(products, column);
    top[x] = column[0];
    bottom[x] = column[1];
  }
  OutputVectors::Run(top, values);
  OutputVectors::Run(bottom, values + 2);
  const __m512 offset = _mm512_maskz_loadu_ps(mask, bias + c);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    values[i] += offset;
    if constexpr (kAdd) {
      const __m256i old = _mm256_maskz_loadu_epi16(mask, pixels[i] + c);
      values[i] += _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(old), 16));
    }
    if constexpr (kRelu) {  // NaN stays NaN
      const __mmask16 negative = _mm512_cmp_ps_mask(values[i], _mm512_setzero_ps(), _CMP_LT_OQ);
      values[i] = _mm512_mask_mov_ps(values[i], negative, _mm512_setzero_ps());
    }
  }
}

template <bool kAdd, bool kRelu>
CAFFE2_PAIR_INSTRUCTION void FinishByInstruction(const float* from, int64_t plane, int64_t channels,
                                                 const float* bias, bfloat16* const* pixels) {
  for (int64_t c = 0; c < channels; c += kPanel) {
    const __mmask32 mask = MaskOf(channels - c);
    __m512 low[4], high[4];
    FinishVectors<kAdd, kRelu>(from, plane, mask, bias, pixels, c, low);
    FinishVectors<kAdd, kRelu>(from, plane, mask >> kVectorFloats, bias, pixels, c + kVectorFloats,
                               high);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      _mm512_mask_storeu_epi16(pixels[i] + c, mask, RoundVectors(low[i], high[i]));
    }
  }
}

// The columns of 16 channels of a filter: G g.
CAFFE2_PAIR_INSTRUCTION CAFFE2_INLINE void FilterColumns(const float* filter, int64_t step,
                                                         __mmask16 mask, __m512 (&t)[4][3]) {
#pragma GCC unroll 3
  for (int x = 0; x < 3; ++x) {
    __m512 g[3], column[4];
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) g[y] = _mm512_maskz_loadu_ps(mask, filter + (3 * y + x) * step);
    FilterVectors::Run(g, column);
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) t[y][x] = column[y];
  }
}

}  // namespace

CAFFE2_PAIR_INSTRUCTION void InputStripsByInstruction(const bfloat16* const* pixels,
                                                      int64_t channels, int64_t strip,
                                                      int64_t plane, bfloat16* to) {
  // Word 2 j is even channel j, word 2 j + 1 odd channel j.
  alignas(64) uint16_t places[kPanel];
  for (int i = 0; i < kPanel; ++i) places[i] = i / 2 + i % 2 * kVectorFloats;
  const __m512i order = _mm512_load_si512(places);
  for (int64_t first = 0; first < channels; first += kPanel, to += strip) {
    const __mmask32 mask = MaskOf(channels - first);
    InputRow<0>(pixels, first, mask, order, plane, to);
    InputRow<1>(pixels, first, mask, order, plane, to);
    InputRow<2>(pixels, first, mask, order, plane, to);
    InputRow<3>(pixels, first, mask, order, plane, to);
  }
}

void InputPairByInstruction(int64_t row, const bfloat16* const* even, const bfloat16* const* odd,
                            int64_t channels, int64_t plane, BFloat16Pair* to) {
  PairByInstruction<InputVectors>(row, even, odd, channels, plane, to);
}
void OutputGradientPairByInstruction(int64_t row, const bfloat16* const* even,
                                     const bfloat16* const* odd, int64_t channels, int64_t plane,
                                     BFloat16Pair* to) {
  PairByInstruction<OutputGradientVectors>(row, even, odd, channels, plane, to);
}

void OutputByInstruction(const float* from, int64_t plane, int64_t channels,
                         const WinogradEpilogue& epilogue, bfloat16* const* pixels) {
  constexpr decltype(&FinishByInstruction<false, false>) kFinish[2][2] = {
      {FinishByInstruction<false, false>, FinishByInstruction<false, true>},
      {FinishByInstruction<true, false>, FinishByInstruction<true, true>}};
  kFinish[epilogue.add][epilogue.relu](from, plane, channels, epilogue.bias, pixels);
}

CAFFE2_PAIR_INSTRUCTION void FilterByInstruction(const float* filter, int64_t step,
                                                 int64_t channels, int64_t plane, bfloat16* to) {
  for (int64_t c = 0; c < channels; c += kPanel) {
    const __mmask32 mask = MaskOf(channels - c);
    __m512 low[4][3], high[4][3];
    FilterColumns(filter + c, step, mask, low);
    FilterColumns(filter + c + kVectorFloats, step, mask >> kVectorFloats, high);
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      __m512 low_row[4], high_row[4];
      FilterVectors::Run(low[y], low_row);
      FilterVectors::Run(high[y], high_row);
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        _mm512_mask_storeu_epi16(to + (4 * y + x) * plane + c, mask,
                                 RoundVectors(low_row[x], high_row[x]));
      }
    }
  }
}

}  // namespace caffe2
#endif
