#include "caffe2/utils/bfloat16_pairs.h"

#include <algorithm>

#include "caffe2/utils/intrinsics.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

// Where the factors of rows of a product lie: of row i, pair r and group g at
// data[g * group_step + i * row_step + r * pair_step].
struct Factors {
  const BFloat16Pair* data;
  int64_t groups, group_step, pairs;  // pairs of a group
};

// Four rows of c = the product, or += it, without the instruction.
CAFFE2_SIMD_CLONES void MultiplyByParts(const Factors& a, int64_t row_step, int64_t pair_step,
                                        const BFloat16Pair* b, bool add, int64_t step, float* c) {
  constexpr int kRows = 4;
  float sums[kRows][kPanel];
  for (int i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) sums[i][j] = add ? c[i * step + j] : 0;
  }
  for (int64_t g = 0; g < a.groups; ++g) {
    for (int64_t r = 0; r < a.pairs; ++r, b += kPanel) {
      const BFloat16Pair* factors = a.data + g * a.group_step + r * pair_step;
      for (int i = 0; i < kRows; ++i) {
        const float even = EvenOf(factors[i * row_step]), odd = OddOf(factors[i * row_step]);
#pragma omp simd
        for (int64_t j = 0; j < kPanel; ++j) {
          sums[i][j] += even * EvenOf(b[j]) + odd * OddOf(b[j]);
        }
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) c[i * step + j] = sums[i][j];
  }
}

#if defined(CAFFE2_PAIR_INSTRUCTION)
// kRows rows of c = the product, or += it. All sums stay in registers. While they are computed, the
// old c is brought into the cache.
template <int kRows, int kRowStep, int kPairStep, bool kAdd>
CAFFE2_PAIR_INSTRUCTION void MultiplyByInstruction(const Factors& a, const BFloat16Pair* b,
                                                   int64_t step, float* c) {
  constexpr int kVector = 16;
  __m512 low[kRows], high[kRows];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
    low[i] = high[i] = _mm512_setzero_ps();
    if constexpr (kAdd) {
      __builtin_prefetch(c + i * step);
      __builtin_prefetch(c + i * step + kVector);
    }
  }
  for (int64_t g = 0; g < a.groups; ++g) {
    const BFloat16Pair* factors = a.data + g * a.group_step;
    for (int64_t r = 0; r < a.pairs; ++r, factors += kPairStep, b += kPanel) {
      const auto b_low = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b));
      const auto b_high = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b + kVector));
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) {
        const auto factor = reinterpret_cast<__m512bh>(
            _mm512_set1_epi32(static_cast<int>(factors[i * kRowStep].bits)));
        low[i] = _mm512_dpbf16_ps(low[i], factor, b_low);
        high[i] = _mm512_dpbf16_ps(high[i], factor, b_high);
      }
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
    if constexpr (kAdd) {
      low[i] += _mm512_loadu_ps(c + i * step);
      high[i] += _mm512_loadu_ps(c + i * step + kVector);
    }
    _mm512_storeu_ps(c + i * step, low[i]);
    _mm512_storeu_ps(c + i * step + kVector, high[i]);
  }
}
#endif

// kRows rows of c = the product with a panel of b, or += it.
template <int kRows, int kRowStep, int kPairStep, bool kAdd>
void MultiplyRows(const Factors& a, const BFloat16Pair* b, int64_t step, float* c) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (onednn::HasPairInstruction()) {
    return MultiplyByInstruction<kRows, kRowStep, kPairStep, kAdd>(a, b, step, c);
  }
#endif
  for (int i = 0; i < kRows; i += 4) {
    const Factors rows{a.data + i * kRowStep, a.groups, a.group_step, a.pairs};
    MultiplyByParts(rows, kRowStep, kPairStep, b, kAdd, step, c + i * step);
  }
}

// c = the product of whole panels, or += it. 24 of 32 registers hold sums.
template <bool kAdd>
void MultiplyWholePanels(int64_t pairs, const BFloat16Pair* a, const BFloat16Pair* b, int64_t step,
                         float* c) {
  constexpr int kPart = 12, kLast = kPanel - 2 * kPart;
  for (int i = 0; i < 2 * kPart; i += kPart) {
    MultiplyRows<kPart, 1, kPanel, kAdd>({a + i, 1, 0, pairs}, b, step, c + i * step);
  }
  MultiplyRows<kLast, 1, kPanel, kAdd>({a + 2 * kPart, 1, 0, pairs}, b, step, c + 2 * kPart * step);
}

}  // namespace

CAFFE2_SIMD_CLONES void InterleaveRows(int64_t n, const bfloat16* even, const bfloat16* odd,
                                       BFloat16Pair* to) {
  for (; n >= kPanel; n -= kPanel, even += kPanel, odd += kPanel, to += kPanelStep) {
#pragma omp simd
    for (int64_t i = 0; i < kPanel; ++i) {
      to[i].bits = even[i].x | static_cast<uint32_t>(odd[i].x) << 16;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    to[i].bits = even[i].x | static_cast<uint32_t>(odd[i].x) << 16;
  }
}

void MultiplyPanels(int64_t pairs, const BFloat16Pair* a, const BFloat16Pair* b, int64_t rows,
                    int64_t columns, bool accumulate, int64_t step, float* c) {
  if (rows == kPanel && columns == kPanel) {
    return accumulate ? MultiplyWholePanels<true>(pairs, a, b, step, c)
                      : MultiplyWholePanels<false>(pairs, a, b, step, c);
  }
  alignas(64) float sums[kPanel * kPanel];
  MultiplyWholePanels<false>(pairs, a, b, kPanel, sums);
  for (int64_t i = 0; i < rows; ++i) {
    if (accumulate) {
      for (int64_t j = 0; j < columns; ++j) c[i * step + j] += sums[i * kPanel + j];
    } else {
      std::copy_n(sums + i * kPanel, columns, c + i * step);
    }
  }
}

void MultiplyStrips(int64_t rows, int64_t strips, int64_t strip, const bfloat16* a,
                    const BFloat16Pair* b, const BFloat16Pair* next, int64_t step, float* c) {
  constexpr int64_t kLine = 64 / sizeof(BFloat16Pair);
  const auto* factors = reinterpret_cast<const BFloat16Pair*>(a);
  const int64_t size = strips * kStripPairs * kPanel;
  for (int64_t i = 0; i < rows; i += kStripRows, factors += kStripRows * kStripPairs) {
    if (next) {
      const int64_t end = size * std::min(rows, i + kStripRows) / rows;
      for (int64_t k = size * i / rows; k < end; k += kLine) __builtin_prefetch(next + k, 0, 2);
    }
    MultiplyRows<kStripRows, kStripPairs, 1, false>({factors, strips, strip / 2, kStripPairs}, b,
                                                    step, c + i * step);
  }
}

}  // namespace caffe2
