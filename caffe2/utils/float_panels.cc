#include "caffe2/utils/float_panels.h"

#include <algorithm>

#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

// Vectors anywhere in an array.
typedef float FloatVector __attribute__((vector_size(64), aligned(4), may_alias));
constexpr int64_t kFloats = 16;
static_assert(kPanel == 2 * kFloats);

CAFFE2_INLINE FloatVector& VectorAt(float* data) { return *reinterpret_cast<FloatVector*>(data); }
CAFFE2_INLINE const FloatVector& VectorAt(const float* data) {
  return *reinterpret_cast<const FloatVector*>(data);
}

// kRows rows of c = the product with a panel of b, or += it. Factor k of group g and row i lies at
// a[g * group_step + i * kRowStep + k * kStep]. All sums stay in registers; that the old c is added
// last keeps the rounding errors of long sums small.
template <int kRows, int kRowStep, int kStep>
CAFFE2_INLINE void MultiplyTile(int64_t groups, int64_t group_step, int64_t length, const float* a,
                                const float* b, bool add, int64_t step, float* c,
                                LinesAhead::Lines ahead) {
  FloatVector low[kRows] = {}, high[kRows] = {};
  for (int64_t g = 0; g < groups; ++g) {
    const float* factors = a + g * group_step;
    for (int64_t k = 0; k < length; ++k, factors += kStep, b += kPanel) {
      __builtin_prefetch(ahead.data, 0, 2);
      ahead.data += ahead.step;
      const FloatVector b_low = VectorAt(b), b_high = VectorAt(b + kFloats);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        low[i] += factors[i * kRowStep] * b_low;
        high[i] += factors[i * kRowStep] * b_high;
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i, c += step) {
    VectorAt(c) = add ? VectorAt(c) + low[i] : low[i];
    VectorAt(c + kFloats) = add ? VectorAt(c + kFloats) + high[i] : high[i];
  }
}

// What a product asks for; b, which it reads anyway, where there is nothing.
LinesAhead::Lines NextOf(LinesAhead* ahead, const float* b) {
  const LinesAhead::Lines lines = ahead ? ahead->Next() : LinesAhead::Lines{};
  return lines.data ? lines : LinesAhead::Lines{b, 0};
}

// Eight columns of a panel of a, transposed.
CAFFE2_SIMD_CLONES void MultiplyColumns(int64_t length, const float* a, const float* b, bool add,
                                        int64_t step, float* c, LinesAhead::Lines ahead) {
  MultiplyTile<kStripRows, 1, kPanel>(1, 0, length, a, b, add, step, c, ahead);
}
CAFFE2_SIMD_CLONES void MultiplyRowsOfStrips(int64_t strips, int64_t strip, const float* a,
                                             const float* b, bool add, int64_t step, float* c,
                                             LinesAhead::Lines ahead) {
  MultiplyTile<kStripRows, kPanel, 1>(strips, strip, kPanel, a, b, add, step, c, ahead);
}

}  // namespace

bool FloatPanelsUseAvx512() {
#ifdef CAFFE2_CLONES_FUSE
  return onednn::HasAvx512();
#else
  return false;
#endif
}

void MultiplyFloatPanels(int64_t length, const float* a, const float* b, int64_t rows,
                         int64_t columns, bool accumulate, int64_t step, float* c,
                         LinesAhead* ahead) {
  for (int64_t i = 0; i < rows; i += kStripRows) {
    const LinesAhead::Lines lines = NextOf(ahead, b);
    const int64_t count = std::min(kStripRows, rows - i);
    if (count == kStripRows && columns == kPanel) {
      MultiplyColumns(length, a + i, b, accumulate, step, c + i * step, lines);
      continue;
    }
    alignas(64) float sums[kStripRows * kPanel];
    for (int64_t r = 0; accumulate && r < count; ++r) {
      std::copy_n(c + (i + r) * step, columns, sums + r * kPanel);
    }
    MultiplyColumns(length, a + i, b, accumulate, kPanel, sums, lines);
    for (int64_t r = 0; r < count; ++r) {
      std::copy_n(sums + r * kPanel, columns, c + (i + r) * step);
    }
  }
}

void MultiplyFloatStrips(int64_t rows, int64_t strips, int64_t strip, const float* a,
                         const float* b, bool accumulate, int64_t step, float* c,
                         LinesAhead* ahead) {
  for (int64_t i = 0; i < rows; i += kStripRows) {
    MultiplyRowsOfStrips(strips, strip, a + i * kPanel, b, accumulate, step, c + i * step,
                         NextOf(ahead, b));
  }
}

}  // namespace caffe2
