#include "distributed/accumulate.h"

#include "caffe2/utils/simd.h"

namespace caffe2 {

namespace {

CAFFE2_SIMD_CLONES void AddFloat(const float* x, float* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}
CAFFE2_SIMD_CLONES void AddBFloat16(const bfloat16* x, bfloat16* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] = ToBFloat16(ToFloat(sum[i]) + ToFloat(x[i]));
}
CAFFE2_SIMD_CLONES void ScaleFloat(float scale, float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

template <typename T>
void Add(const void* x, void* sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(sum)[i] += static_cast<const T*>(x)[i];
}

}  // namespace

void Accumulate(TypeMeta type, const void* x, void* sum, int64_t count) {
  if (type.Match<float>()) {
    AddFloat(static_cast<const float*>(x), static_cast<float*>(sum), count);
  } else if (type.Match<bfloat16>()) {
    AddBFloat16(static_cast<const bfloat16*>(x), static_cast<bfloat16*>(sum), count);
  } else if (type.Match<float16>()) {
    auto* out = static_cast<float16*>(sum);
    for (int64_t i = 0; i < count; ++i) {
      out[i] = ToFloat16(ToFloat(out[i]) + ToFloat(static_cast<const float16*>(x)[i]));
    }
  } else if (type.Match<double>()) {
    Add<double>(x, sum, count);
  } else if (type.Match<int32_t>()) {
    Add<uint32_t>(x, sum, count);  // unsigned, so that overflow wraps
  } else if (type.Match<int64_t>()) {
    Add<uint64_t>(x, sum, count);
  } else if (type.Match<uint8_t>()) {
    Add<uint8_t>(x, sum, count);
  } else {
    CAFFE_THROW("cannot sum elements of type ", type.name());
  }
}

void ScaleInPlace(TypeMeta type, float scale, void* x, int64_t count) {
  if (scale == 1.f) return;
  if (type.Match<float>()) {
    ScaleFloat(scale, static_cast<float*>(x), count);
  } else if (type.Match<double>()) {
    for (int64_t i = 0; i < count; ++i) static_cast<double*>(x)[i] *= scale;
  } else if (type.Match<bfloat16>()) {
    auto* values = static_cast<bfloat16*>(x);
    for (int64_t i = 0; i < count; ++i) values[i] = ToBFloat16(ToFloat(values[i]) * scale);
  } else if (type.Match<float16>()) {
    auto* values = static_cast<float16*>(x);
    for (int64_t i = 0; i < count; ++i) values[i] = ToFloat16(ToFloat(values[i]) * scale);
  } else {
    CAFFE_THROW("cannot scale elements of type ", type.name());
  }
}

}  // namespace caffe2
