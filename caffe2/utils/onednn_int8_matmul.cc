#include "caffe2/utils/onednn_int8_matmul.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_conv.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

constexpr int kSignOffset = 128;     // of int8 to uint8
constexpr int64_t kGrain = 1 << 15;  // elements for each thread

// c[j] -= factor * (the sum of a)
CAFFE2_SIMD_CLONES void SubtractRowSum(int64_t k, const uint8_t* a, int32_t factor, int64_t n,
                                       int32_t* c) {
  int32_t sum = 0;
  for (int64_t l = 0; l < k; ++l) sum += a[l];
  for (int64_t j = 0; j < n; ++j) c[j] -= factor * sum;
}

}  // namespace

Int8Factor::Int8Factor(bool transposed, int64_t n, int64_t k, const uint8_t* b, uint8_t zero_point)
    : transposed_(transposed),
      n_(n),
      k_(k),
      zero_point_(zero_point - kSignOffset),
      column_sums_(n, static_cast<int32_t>(-k * zero_point_)) {
  const int64_t size = n * k;
  terms_.assign(onednn::AddsBytesExactly() ? 1 : 2, std::vector<int8_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    const int value = b[i] - kSignOffset;
    const int half = terms_.size() == 1 ? 0 : value / 2;
    terms_.back()[i] = static_cast<int8_t>(half);
    terms_.front()[i] = static_cast<int8_t>(value - half);
    column_sums_[transposed ? i / k : i % n] += value;
  }
}

// With zero points x and z, (a - x) (b - z) = a b - x (b - z) - z a. oneDNN adds the second part,
// which depends only on the column, to its products. (oneDNN's own support for zero points takes
// twice as long.)
void Int8Factor::Multiply(int64_t m, const uint8_t* a, int64_t lda, uint8_t a_zero_point,
                          const int32_t* bias, int32_t* c, int64_t ldc) const {
  std::vector<int32_t> offsets(n_);
  for (int64_t j = 0; j < n_; ++j) {
    offsets[j] = (bias == nullptr ? 0 : bias[j]) - a_zero_point * column_sums_[j];
  }
  for (size_t t = 0; t < terms_.size(); ++t) {
    if (t == 1) std::fill(offsets.begin(), offsets.end(), 0);  // added with the first term
    const dnnl_status_t status = dnnl_gemm_u8s8s32(
        'N', transposed_ ? 'T' : 'N', 'R', m, n_, k_, 1.f, a, lda, 0, terms_[t].data(),
        transposed_ ? k_ : n_, 0, t == 0 ? 0.f : 1.f, c, ldc, offsets.data());
    CAFFE_ENFORCE(static_cast<int>(status) == static_cast<int>(dnnl_success),
                  "oneDNN cannot multiply bytes, ", m, " x ", k_, " with ", k_, " x ", n_,
                  ": status ", status);
  }
  if (zero_point_ == 0) return;
  ParallelFor(m, std::max<int64_t>(1, kGrain / (n_ + k_)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      SubtractRowSum(k_, a + i * lda, zero_point_, n_, c + i * ldc);
    }
  });
}

}  // namespace caffe2
