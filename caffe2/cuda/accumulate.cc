#include "caffe2/cuda/accumulate.h"

#include "caffe2/core/logging.h"
#include "caffe2/cuda/accumulate_kernels.h"

namespace caffe2::cuda {
namespace {

// Calls f(T{}) for the T of Types that `type` is. Throws EnforceNotMet if it is none of them.
template <typename... Types, typename F>
void ForType(TypeMeta type, const char* what, const F& f) {
  const bool found = ((type.Match<Types>() && (f(Types{}), true)) || ...);
  CAFFE_ENFORCE(found, "cannot ", what, " elements of type ", type.name());
}

}  // namespace

void Accumulate(TypeMeta type, const void* x, void* sum, int64_t count, Stream stream) {
  ForType<float, double, float16, bfloat16, int32_t, int64_t, uint8_t>(type, "add", [&](auto zero) {
    using T = decltype(zero);
    LaunchAccumulate(count, static_cast<const T*>(x), static_cast<T*>(sum), stream);
  });
}

void Scale(TypeMeta type, float scale, void* x, int64_t count, Stream stream) {
  if (scale == 1.f) return;
  ForType<float, double, float16, bfloat16>(type, "scale", [&](auto zero) {
    using T = decltype(zero);
    LaunchScaleInPlace(count, scale, static_cast<T*>(x), stream);
  });
}

}  // namespace caffe2::cuda
