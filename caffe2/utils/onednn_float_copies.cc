#include "caffe2/utils/onednn_float_copies.h"

#include "caffe2/core/half.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"

namespace caffe2::onednn {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements that a thread converts at least

void Widen(const bfloat16* from, int64_t n, float* to) {
  ParallelFor(n, kGrain,
              [=](int64_t begin, int64_t end) { WidenRow(end - begin, from + begin, to + begin); });
}

}  // namespace

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
