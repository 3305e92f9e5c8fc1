#include "caffe2/utils/narrow_float.h"

#include "caffe2/utils/half_target.h"

namespace caffe2 {
namespace {

#ifdef CAFFE2_HALF_TARGET
constexpr int64_t kHalves = 8;  // in a vector

// These convert whole vectors, and return how many elements that were.
CAFFE2_HALF_TARGET int64_t WidenHalves(int64_t n, const float16* from, float* to) {
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
  return i;
}

CAFFE2_HALF_TARGET int64_t NarrowHalves(int64_t n, const float* from, float16* to) {
  const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x400000));
  const __m256 payload = _mm256_castsi256_ps(_mm256_set1_epi32(0x3fffff));
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256 nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    // Like ToFloat16, it keeps only the sign of a NaN.
    const __m256 marked = _mm256_or_ps(value, _mm256_and_ps(nan, quiet));
    const __m256 plain = _mm256_andnot_ps(_mm256_and_ps(nan, payload), marked);
    const __m128i half = _mm256_cvtps_ph(plain, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
  return i;
}
#endif

}  // namespace

CAFFE2_SIMD_CLONES void WidenRow(int64_t n, const bfloat16* from, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = Widen(from[i]);
}

CAFFE2_SIMD_CLONES void NarrowRow(int64_t n, const float* from, bfloat16* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) Store(from[i], &to[i]);
}

void WidenRow(int64_t n, const float16* from, float* to) {
  int64_t i = 0;
#ifdef CAFFE2_HALF_TARGET
  if (ProcessorConvertsHalves()) i = WidenHalves(n, from, to);
#endif
  for (; i < n; ++i) to[i] = ToFloat(from[i]);
}

void NarrowRow(int64_t n, const float* from, float16* to) {
  int64_t i = 0;
#ifdef CAFFE2_HALF_TARGET
  if (ProcessorConvertsHalves()) i = NarrowHalves(n, from, to);
#endif
  for (; i < n; ++i) to[i] = ToFloat16(from[i]);
}

}  // namespace caffe2
