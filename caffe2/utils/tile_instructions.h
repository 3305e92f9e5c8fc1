// Vector instructions of products in tiles; only sources of such products include this.
#pragma once

#include "caffe2/utils/intrinsics.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/tile_words.h"

#if defined(CAFFE2_PAIR_INSTRUCTION)
// Functions for float have this target too, but use no instruction that AVX-512 does not have.
#define CAFFE2_TILE_TARGET CAFFE2_PAIR_INSTRUCTION
#define CAFFE2_TILE_INLINE CAFFE2_TILE_TARGET CAFFE2_INLINE

namespace caffe2 {

inline constexpr int kTileLanes = 16;  // words of a vector

// sum + a * b for each lane.
CAFFE2_TILE_INLINE __m512 AddTileProduct(float a, __m512 b, __m512 sum) {
  return _mm512_fmadd_ps(_mm512_set1_ps(a), b, sum);
}
CAFFE2_TILE_INLINE __m512 AddTileProduct(BFloat16Pair a, __m512 b, __m512 sum) {
  const __m512i factor = _mm512_set1_epi32(static_cast<int>(a.bits));
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(factor), reinterpret_cast<__m512bh>(b));
}

}  // namespace caffe2
#endif
