#include "caffe2/utils/onednn_int8_matmul.h"

#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_primitive.h"

namespace caffe2 {
namespace {

constexpr int kSignOffset = 128;  // of int8 to uint8

// Whether sums of two products of a uint8 and an int8 are exact. Processors without such
// instructions (VNNI) cut them to 16 bits, which is enough for int8 in [-64, 64] only.
bool AddsPairsExactly() {
  static const bool exact = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto has = [isa](dnnl::cpu_isa wanted) {
      return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
    };
    return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
  }();
  return exact;
}

}  // namespace

Int8Factor::Int8Factor(bool transposed, int64_t n, int64_t k, const uint8_t* b, uint8_t zero_point)
    : transposed_(transposed),
      n_(n),
      k_(k),
      zero_point_(static_cast<int8_t>(zero_point - kSignOffset)),
      no_bias_(n, 0) {
  const int64_t size = n * k;
  terms_.assign(AddsPairsExactly() ? 1 : 2, std::vector<int8_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    const int value = b[i] - kSignOffset;
    const int half = terms_.size() == 1 ? 0 : value / 2;
    terms_.back()[i] = static_cast<int8_t>(half);
    terms_.front()[i] = static_cast<int8_t>(value - half);
  }
}

void Int8Factor::Multiply(int64_t m, const uint8_t* a, int64_t lda, uint8_t a_zero_point,
                          const int32_t* bias, int32_t* c, int64_t ldc) const {
  if (bias == nullptr) bias = no_bias_.data();
  for (size_t t = 0; t < terms_.size(); ++t) {
    // The first term takes the zero point and the bias with it; the second adds to the sums.
    const bool first = t == 0;
    const dnnl_status_t status =
        dnnl_gemm_u8s8s32('N', transposed_ ? 'T' : 'N', 'R', m, n_, k_, 1.f, a, lda, a_zero_point,
                          terms_[t].data(), transposed_ ? k_ : n_, first ? zero_point_ : int8_t{0},
                          first ? 0.f : 1.f, c, ldc, first ? bias : no_bias_.data());
    CAFFE_ENFORCE_EQ(static_cast<int>(status), static_cast<int>(dnnl_success),
                     "oneDNN: product of bytes, ", m, " x ", k_, " with ", k_, " x ", n_);
  }
}

}  // namespace caffe2
