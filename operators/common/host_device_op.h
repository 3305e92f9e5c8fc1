// Runs the functors of host_device.h on the host, in parallel. host_device_cuda.h has the same
// functions for CUDA devices.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/common/host_device.h"

namespace caffe2 {

// Loops over fewer elements stay in one thread.
constexpr int64_t kElementGrain = 8192;

using RealTypes = TensorTypes<float, float16, bfloat16>;

// f(i) for i in [0, n).
template <class F>
void ForEach(int64_t n, const F& f, CPUContext*) {
  ParallelFor(n, kElementGrain, [&f](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

namespace host_device {
// True if F has `static constexpr bool kNarrowsApart = true`. Then the loop over 16-bit numbers
// stores a block of floats, and a second loop narrows them. This is faster for long functions, for
// which one loop has too few registers, and for functions that do not vectorize. It also holds for
// the gradient of F.
template <class F>
inline constexpr bool kNarrowsApart = requires {
  requires F::kNarrowsApart;
};
template <class F>
inline constexpr bool kNarrowsApart<GradientOf<F>> = kNarrowsApart<F>;

// MapRow for other types than float16, compiled for several instruction sets.
template <class F, typename R, typename... T>
CAFFE2_SIMD_CLONES void MapVectors(F f, int64_t n, R* y, const T*... x) {
  if constexpr (kNarrowsApart<F> && kIs16Bit<R>) {
    constexpr int64_t kBlock = 1024;
    float wide[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t size = std::min(kBlock, n - begin);
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) wide[i] = f(host_device::Widen(x[begin + i])...);
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) y[begin + i] = host_device::Narrow<R>(wide[i]);
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = host_device::Narrow<R>(f(host_device::Widen(x[i])...));
  }
}
// Up to kHalfBlock elements for MapVectors: float16 as float, others in place, bfloat16 too, which
// MapVectors converts itself. Unlike WideInput and WideOutput (wide_rows.h) it needs no memory of
// the heap, so that short rows stay cheap.
constexpr int64_t kHalfBlock = 512;
template <typename T>
struct HalfBlock {
  // The n elements to read; the next call overwrites them.
  const T* Read(int64_t /*n*/, const T* x) const { return x; }
  // Where to write the elements of y. Store puts n of them there, rounded.
  T* Written(T* y) const { return y; }
  void Store(int64_t /*n*/, T* /*y*/) const {}
};
template <>
struct HalfBlock<float16> {
  HalfBlock() {}  // without zeros
  const float* Read(int64_t n, const float16* x) {
    WidenRow(n, x, wide);
    return wide;
  }
  float* Written(float16* /*y*/) { return wide; }
  void Store(int64_t n, float16* y) const { NarrowRow(n, wide, y); }
  float wide[kHalfBlock];
};

// MapElements in one thread. Rows of float16 convert faster than elements in the loop.
template <class F, typename R, typename... T>
void MapRow(const F& f, int64_t n, R* y, const T*... x) {
  if constexpr (std::is_same_v<R, float16> || (std::is_same_v<T, float16> || ...)) {
    HalfBlock<R> out;
    std::tuple<HalfBlock<T>...> in;
    for (int64_t i = 0; i < n; i += kHalfBlock) {
      const int64_t size = std::min(kHalfBlock, n - i);
      std::apply(
          [&](auto&... block) {
            MapVectors(f, size, out.Written(y + i), block.Read(size, x + i)...);
          },
          in);
      out.Store(size, y + i);
    }
  } else {
    MapVectors(f, n, y, x...);
  }
}

// The pointer in the type that MapRow takes, if F takes bits: SignedBits for 16-bit elements, and
// bytes for bools, with which GCC 12 does not vectorize.
template <class F, typename T>
auto* ElementsOf(T* elements) {
  using Element = std::remove_const_t<T>;
  if constexpr (kOfBits<F> && kIs16Bit<Element>) {
    using Bits = SignedBits<Element>;
    return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Bits, Bits>*>(elements);
  } else if constexpr (kOfBits<F> && std::is_same_v<Element, bool>) {
    return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const uint8_t, uint8_t>*>(
        elements);
  } else {
    return elements;
  }
}
}  // namespace host_device

// y[i] = f(x[i]...) for i in [0, n). f takes and returns numbers, 16-bit ones as float, and must
// not throw. y may be one of x. This is faster than ForEach.
template <class F, typename R, typename... T>
void MapElements(const F& f, int64_t n, CPUContext* /*context*/, R* y, const T*... x) {
  ParallelFor(n, kElementGrain, [&](int64_t begin, int64_t end) {
    host_device::MapRow(f, end - begin, host_device::ElementsOf<F>(y + begin),
                        host_device::ElementsOf<F>(x + begin)...);
  });
}

// f(row, team) for row in [0, rows). `width` is the number of elements of a row and decides only
// how many threads share a row: on a device one for up to 8 elements, more for longer rows.
template <class F>
void ForEachRow(int64_t rows, int64_t width, const F& f, CPUContext*) {
  ParallelFor(rows, RowGrain(width, kElementGrain), [&f](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row, host_device::SoloTeam());
  });
}

// The sum of term(i) for i in [0, n), added in double. The order depends on n alone.
template <class Term>
double SumTerms(int64_t n, const Term& term, CPUContext*) {
  constexpr int64_t kBlock = 4096;
  if (n <= kBlock) return host_device::SumOver(host_device::SoloTeam(), n, term);
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> sums(blocks);
  ParallelFor(blocks, 4 * kElementGrain / kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock;
      sums[block] = host_device::SumOver(host_device::SoloTeam(), std::min(kBlock, n - first),
                                         [term, first](int64_t i) { return term(first + i); });
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace caffe2
