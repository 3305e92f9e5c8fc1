#include "caffe2/utils/narrow_float.h"

namespace caffe2 {

CAFFE2_SIMD_CLONES void WidenRow(int64_t n, const bfloat16* from, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = Widen(from[i]);
}

CAFFE2_SIMD_CLONES void NarrowRow(int64_t n, const float* from, bfloat16* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) Store(from[i], &to[i]);
}

CAFFE2_SIMD_CLONES void WidenRow(int64_t n, const float16* from, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = ToFloat(from[i]);
}

CAFFE2_SIMD_CLONES void NarrowRow(int64_t n, const float* from, float16* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = ToFloat16(from[i]);
}

}  // namespace caffe2
