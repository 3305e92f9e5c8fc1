// Products of matrices of bfloat16 that lie interleaved in pairs, as the instruction VDPBF16PS
// (AVX512_BF16) reads them. Sums are in float, one after another. Processors without it
// (onednn_processor.h: HasPairInstruction) need several instructions for a pair.
//
// Rows of a matrix lie in panels of kPanel columns. A panel has a row of kPanel pairs for each two
// rows of the matrix. So sums over pixels, as in gradients of filters, need no transposed copies.
#pragma once

#include <cstdint>

#include "caffe2/core/half.h"
#include "caffe2/utils/simd.h"

// For functions that may use the instruction; defined where the compiler has it.
#if defined(__x86_64__) && defined(__GNUC__)
#define CAFFE2_PAIR_INSTRUCTION __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#endif

namespace caffe2 {

struct [[gnu::may_alias]] BFloat16Pair {
  uint32_t bits;  // of row 2 r in the lower half, of row 2 r + 1 in the upper one
};

// The numbers of a pair.
CAFFE2_INLINE float EvenOf(BFloat16Pair pair) { return __builtin_bit_cast(float, pair.bits << 16); }
CAFFE2_INLINE float OddOf(BFloat16Pair pair) {
  return __builtin_bit_cast(float, pair.bits & 0xffff0000);
}

inline constexpr int64_t kPanel = 32, kStripPairs = kPanel / 2;
inline int64_t PanelsOf(int64_t columns) { return (columns + kPanel - 1) / kPanel; }

// Long matrices are multiplied in chunks of kPanelPairs pairs of rows: two panels stay in the
// first-level cache. The panels of a chunk lie kPanelStep pairs apart, an odd number of rows, so
// that they do not compete for the same few cache lines.
inline constexpr int64_t kPanelPairs = 95, kPanelStep = kPanelPairs * kPanel;

// Interleaves two rows of n columns to a row of each panel of a chunk. Columns from n on stay as
// they are.
void InterleaveRows(int64_t n, const bfloat16* even, const bfloat16* odd, BFloat16Pair* to);

// The transpose of one panel of a times one panel of b,
//   c[i][j] = the sum over r of a[r][i] * b[r][j],
// or added to c. The first `rows` columns of a and the first `columns` of b are wanted; the rows
// of c lie `step` apart. Runs in the calling thread.
void MultiplyPanels(int64_t pairs, const BFloat16Pair* a, const BFloat16Pair* b, int64_t rows,
                    int64_t columns, bool accumulate, int64_t step, float* c);

// The number of rows that MultiplyStrips takes at a time.
inline constexpr int64_t kStripRows = 8;
// Rows of a times one panel of b: c[i][j] = the sum over k of a[i][k] * b[k][j], for `rows` rows, a
// multiple of kStripRows, and kPanel columns. The columns of a lie in strips of kPanel, `strip`
// elements apart, and in a strip its rows lie one after another; b has strips * kPanel / 2 pairs.
// The rows of c lie `step` apart. `next`, if it is not null, is a panel like b that will be needed
// next: it is brought into the cache meanwhile. Runs in the calling thread.
void MultiplyStrips(int64_t rows, int64_t strips, int64_t strip, const bfloat16* a,
                    const BFloat16Pair* b, const BFloat16Pair* next, int64_t step, float* c);

}  // namespace caffe2
