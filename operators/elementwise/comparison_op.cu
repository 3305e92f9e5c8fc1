#include "caffe2/cuda/kernel.h"
#include "operators/common/strided_kernel.h"
#include "operators/elementwise/comparison_kernels.h"

namespace caffe2 {
namespace {

using cuda::Widen;

template <Comparison kComparison, typename T>
__device__ inline bool Holds(T a, T b) {
  switch (kComparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
    case Comparison::kAnd:
      return a && b;
    case Comparison::kOr:
      return a || b;
  }
  return false;
}

template <Comparison kComparison, typename T>
void Compare(const Strides& space, bool plain, int64_t n, const T* a, const T* b, bool* c,
             cuda::Stream stream) {
  if (plain) {
    return cuda::ForEach("Compare", n, stream, [=] __device__(int64_t i) {
      c[i] = Holds<kComparison>(Widen(a[i]), Widen(b[i]));
    });
  }
  cuda::ForEach("CompareBroadcast", n, stream, [=] __device__(int64_t i) {
    const Offsets offsets = Locate(space, i);
    c[i] = Holds<kComparison>(Widen(a[offsets.at[0]]), Widen(b[offsets.at[1]]));
  });
}

template <typename T>
void Select(int64_t n, int64_t row, const bool* condition, const void* x, const void* y, void* z,
            cuda::Stream stream) {
  const T *from_x = static_cast<const T*>(x), *from_y = static_cast<const T*>(y);
  T* to = static_cast<T*>(z);
  cuda::ForEach("Select", n, stream,
                [=] __device__(int64_t i) { to[i] = condition[i / row] ? from_x[i] : from_y[i]; });
}

}  // namespace

template <typename T>
void LaunchCompare(Comparison comparison, const Strides& space, bool plain, int64_t n, const T* a,
                   const T* b, bool* c, cuda::Stream stream) {
#define CASE(name)       \
  case Comparison::name: \
    return Compare<Comparison::name>(space, plain, n, a, b, c, stream)
  switch (comparison) {
    CASE(kEqual);
    CASE(kNotEqual);
    CASE(kLess);
    CASE(kLessEqual);
    CASE(kGreater);
    CASE(kGreaterEqual);
    CASE(kAnd);
    CASE(kOr);
  }
#undef CASE
}

template <typename T>
void LaunchBits(Bits bits, const Strides& space, int64_t n, const T* a, const T* b, T* c,
                cuda::Stream stream) {
  cuda::ForEach("Bits", n, stream, [=] __device__(int64_t i) {
    const Offsets offsets = Locate(space, i);
    const T x = a[offsets.at[0]], y = b[offsets.at[1]];
    c[i] = static_cast<T>(bits == Bits::kAnd ? x & y : bits == Bits::kOr ? x | y : x ^ y);
  });
}
template void LaunchBits(Bits, const Strides&, int64_t, const int32_t*, const int32_t*, int32_t*,
                         cuda::Stream);
template void LaunchBits(Bits, const Strides&, int64_t, const int64_t*, const int64_t*, int64_t*,
                         cuda::Stream);
template void LaunchBits(Bits, const Strides&, int64_t, const bool*, const bool*, bool*,
                         cuda::Stream);

void LaunchNot(int64_t n, const bool* x, bool* y, cuda::Stream stream) {
  cuda::ForEach("Not", n, stream, [=] __device__(int64_t i) { y[i] = !x[i]; });
}

void LaunchSelect(int64_t n, int64_t row, size_t itemsize, const bool* condition, const void* x,
                  const void* y, void* z, cuda::Stream stream) {
  switch (itemsize) {
    case 1:
      return Select<uint8_t>(n, row, condition, x, y, z, stream);
    case 2:
      return Select<uint16_t>(n, row, condition, x, y, z, stream);
    case 4:
      return Select<uint32_t>(n, row, condition, x, y, z, stream);
    default:
      return Select<uint64_t>(n, row, condition, x, y, z, stream);
  }
}

#define INSTANTIATE(T)                                                                       \
  template void LaunchCompare(Comparison, const Strides&, bool, int64_t, const T*, const T*, \
                              bool*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);
INSTANTIATE(uint8_t);
INSTANTIATE(bool);

}  // namespace caffe2
