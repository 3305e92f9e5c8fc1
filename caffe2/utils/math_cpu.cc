#include <algorithm>
#include <type_traits>
#include <vector>

#include "caffe2/core/context.h"
#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/math.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_matmul.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2::math {
namespace {

// Below this many multiply-adds a plain loop is faster than starting oneDNN.
constexpr int64_t kSmallProduct = 512;
// Columns in each part of a parallel column sum, and the smallest sum that is worth a second
// thread.
constexpr int64_t kColumnBlock = 256;
constexpr int64_t kSerialSum = 1 << 16;

template <typename T>
MatMulType TypeOf() {
  return std::is_same_v<T, float> ? MatMulType::kFloat : MatMulType::kBFloat16;
}

// c = alpha op(a) op(b) + beta c (+ bias). Also handles k = 0, which oneDNN does not.
template <typename T>
void SmallGemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const T* a,
               const T* b, float beta, const T* bias, T* c) {
  const int64_t a_row = trans_a ? 1 : k, a_column = trans_a ? m : 1;
  const int64_t b_row = trans_b ? 1 : n, b_column = trans_b ? k : 1;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += Widen(a[i * a_row + l * a_column]) * Widen(b[l * b_row + j * b_column]);
      }
      sum *= alpha;
      if (beta != 0) sum += beta * Widen(c[i * n + j]);
      if (bias != nullptr) sum += Widen(bias[j]);
      Store(sum, &c[i * n + j]);
    }
  }
}

bool IsSmall(int64_t m, int64_t n, int64_t k) {
  return k == 0 || (m <= kSmallProduct && n <= kSmallProduct && k <= kSmallProduct &&
                    m * n * k <= kSmallProduct);
}

CAFFE2_SIMD_CLONES void AddRows(int64_t rows, int64_t stride, int64_t n, const float* x,
                                float* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) sums[j] += x[i * stride + j];
  }
}

CAFFE2_SIMD_CLONES void AddRows(int64_t rows, int64_t stride, int64_t n, const bfloat16* x,
                                bfloat16* sums) {
  float block[kColumnBlock];
  for (int64_t begin = 0; begin < n; begin += kColumnBlock) {
    const int64_t width = std::min(kColumnBlock, n - begin);
    for (int64_t j = 0; j < width; ++j) block[j] = 0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < width; ++j) block[j] += ToFloat(x[i * stride + begin + j]);
    }
    for (int64_t j = 0; j < width; ++j) sums[begin + j] = ToBFloat16(block[j]);
  }
}

}  // namespace

template <typename T, class Context>
void Gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const T* a,
          const T* b, float beta, T* c, Context* /*context*/) {
  if (m == 0 || n == 0) return;
  if (IsSmall(m, n, k)) {
    SmallGemm<T>(trans_a, trans_b, m, n, k, alpha, a, b, beta, nullptr, c);
  } else if (alpha == 1 && (beta == 0 || beta == 1)) {
    OneDnnMatMul({.m = m,
                  .n = n,
                  .k = k,
                  .trans_a = trans_a,
                  .trans_b = trans_b,
                  .accumulate = beta == 1,
                  .type = TypeOf<T>()},
                 a, b, nullptr, c);
  } else if constexpr (std::is_same_v<T, float>) {
    OneDnnSgemm(trans_a, trans_b, m, n, k, alpha, a, b, beta, c);
  } else {
    CAFFE_THROW("a bfloat16 product needs alpha 1 and beta 0 or 1, not ", alpha, " and ", beta);
  }
}

template <typename T>
void GemmBiasPacked(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a,
                    const T* b, const T* bias, T* c, PackedFactor* packed) {
  if (m == 0 || n == 0) return;
  if (IsSmall(m, n, k)) {
    SmallGemm<T>(trans_a, trans_b, m, n, k, 1, a, b, 0, bias, c);
    return;
  }
  const MatMulProblem problem = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .trans_a = trans_a,
                                 .trans_b = trans_b,
                                 .has_bias = true,
                                 .type = TypeOf<T>()};
  if (packed == nullptr) return OneDnnMatMul(problem, a, b, bias, c);
  packed->Multiply(problem, a, b, bias, c);
}

template <typename T, class Context>
void GemmBias(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a, const T* b,
              const T* bias, T* c, Context* /*context*/) {
  GemmBiasPacked(trans_a, trans_b, m, n, k, a, b, bias, c, nullptr);
}

template <typename T, class Context>
void GemmBatched(bool trans_a, bool trans_b, int64_t batch, int64_t m, int64_t n, int64_t k,
                 const T* a, bool broadcast_a, const T* b, bool broadcast_b, T* c,
                 Context* /*context*/) {
  if (batch == 0 || m == 0 || n == 0) return;
  if (IsSmall(m, n, k)) {
    for (int64_t i = 0; i < batch; ++i) {
      SmallGemm<T>(trans_a, trans_b, m, n, k, 1, a + (broadcast_a ? 0 : i * m * k),
                   b + (broadcast_b ? 0 : i * k * n), 0, nullptr, c + i * m * n);
    }
    return;
  }
  OneDnnMatMul({.batch = batch,
                .m = m,
                .n = n,
                .k = k,
                .trans_a = trans_a,
                .trans_b = trans_b,
                .broadcast_a = broadcast_a,
                .broadcast_b = broadcast_b,
                .type = TypeOf<T>()},
               a, b, nullptr, c);
}

template <typename T, class Context>
void ColumnSums(int64_t rows, int64_t columns, const T* x, T* sums, Context* /*context*/) {
  const int64_t grain = rows * columns < kSerialSum ? columns : kColumnBlock;
  ParallelFor(columns, grain, [&](int64_t begin, int64_t end) {
    AddRows(rows, columns, end - begin, x + begin, sums + begin);
  });
}

#define CAFFE2_INSTANTIATE_MATH(T)                                                                \
  template void Gemm(bool, bool, int64_t, int64_t, int64_t, float, const T*, const T*, float, T*, \
                     CPUContext*);                                                                \
  template void GemmBias(bool, bool, int64_t, int64_t, int64_t, const T*, const T*, const T*, T*, \
                         CPUContext*);                                                            \
  template void GemmBiasPacked(bool, bool, int64_t, int64_t, int64_t, const T*, const T*,         \
                               const T*, T*, PackedFactor*);                                      \
  template void GemmBatched(bool, bool, int64_t, int64_t, int64_t, int64_t, const T*, bool,       \
                            const T*, bool, T*, CPUContext*);                                     \
  template void ColumnSums(int64_t, int64_t, const T*, T*, CPUContext*)
CAFFE2_INSTANTIATE_MATH(float);
CAFFE2_INSTANTIATE_MATH(bfloat16);

}  // namespace caffe2::math
