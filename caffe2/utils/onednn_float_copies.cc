#include "caffe2/utils/onednn_float_copies.h"

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/parallel.h"

namespace caffe2::onednn {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements that a thread converts at least

void Widen(const bfloat16* from, int64_t n, float* to) {
  ParallelFor(n, kGrain,
              [=](int64_t begin, int64_t end) { WidenRow(end - begin, from + begin, to + begin); });
}

}  // namespace

bool MultipliesBFloat16() {
  static const bool can = [] {
    const dnnl::memory::desc square({16, 16}, dnnl::memory::data_type::bf16,
                                    dnnl::memory::format_tag::ab);
    try {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::matmul::primitive_desc product(CpuEngine(), square, square, square);
#else
      const dnnl::matmul::primitive_desc product({square, square, square}, CpuEngine());
#endif
      return true;
    } catch (const dnnl::error&) {
      LOG(WARNING) << "oneDNN has no products of bfloat16 on this processor (it needs AVX-512): "
                      "they are computed with float copies, which is slower than float";
      return false;
    }
  }();
  return can;
}

bool HasAmx() {
  static const bool amx = HasIsa(dnnl::cpu_isa::avx512_core_amx);
  return amx;
}

bool HasPairInstruction() {
  static const bool has = HasIsa(dnnl::cpu_isa::avx512_core_bf16);
  return has;
}

bool HasVnniWithoutAmx() {
  static const bool has = HasIsa(dnnl::cpu_isa::avx512_core_vnni) && !HasAmx();
  return has;
}

const float* FloatCopies::Input(const void* data, TypeMeta type, int64_t n) {
  if (data == nullptr || type.Match<float>()) return static_cast<const float*>(data);
  float* copy = Next(n);
  Widen(static_cast<const bfloat16*>(data), n, copy);
  return copy;
}

float* FloatCopies::Output(void* data, TypeMeta type, int64_t n, bool is_read) {
  if (data == nullptr || type.Match<float>()) return static_cast<float*>(data);
  float* copy = Next(n);
  if (is_read) Widen(static_cast<const bfloat16*>(data), n, copy);
  written_.push_back({copy, data, n});
  return copy;
}

void FloatCopies::Finish() {
  for (const Written& written : written_) {
    auto* to = static_cast<bfloat16*>(written.to);
    ParallelFor(written.n, kGrain, [&written, to](int64_t begin, int64_t end) {
      NarrowRow(end - begin, written.from + begin, to + begin);
    });
  }
}

float* FloatCopies::Next(int64_t n) {
  static thread_local std::array<std::vector<float>, kMaxOperands> memory;
  CAFFE_ENFORCE_LT(next_, kMaxOperands, "too many operands of a product");
  std::vector<float>& copy = memory[next_++];
  if (static_cast<int64_t>(copy.size()) < n) copy.resize(n);
  return copy.data();
}

}  // namespace caffe2::onednn
