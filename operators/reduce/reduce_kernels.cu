#include <limits>

#include "operators/common/strided_kernel.h"
#include "operators/reduce/reduce_kernels.h"

namespace caffe2 {
namespace {

constexpr int64_t kShort = 32;  // one thread handles reductions of up to so many elements

using cuda::Arithmetic;
using cuda::Narrow;
using cuda::Widen;

constexpr bool IsExtreme(Reduction r) { return r == Reduction::kMax || r == Reduction::kMin; }
// Long sums of floats would lose digits in float.
template <Reduction kReduction, typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<Arithmetic<T>, float> && !IsExtreme(kReduction), double,
                       Arithmetic<T>>;

// T is what is accumulated in.
template <Reduction kReduction, typename T>
struct Reducer {
  __device__ static T Init() {
    using Limits = std::numeric_limits<T>;
    if constexpr (kReduction == Reduction::kMax) {
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    } else if constexpr (kReduction == Reduction::kMin) {
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    } else {
      return T(0);
    }
  }
  __device__ static T Map(T x) {
    if constexpr (kReduction == Reduction::kL1) return x < T(0) ? -x : x;
    if constexpr (kReduction == Reduction::kL2) return x * x;
    return x;
  }
  // NaN wins.
  __device__ T operator()(T a, T b) const {
    if constexpr (kReduction == Reduction::kMax) return a > b || a != a ? a : b;
    if constexpr (kReduction == Reduction::kMin) return a < b || a != a ? a : b;
    return a + b;
  }
  __device__ static T Finish(T value, int64_t count) {
    if constexpr (kReduction == Reduction::kMean) {
      if constexpr (std::is_integral_v<T>) {
        if (count == 0) return 0;
      }
      return value / static_cast<T>(count);
    }
    if constexpr (kReduction == Reduction::kL2) {
      return static_cast<T>(std::sqrt(static_cast<double>(value)));
    }
    return value;
  }
};

// One block for each result, or with kAlone one thread.
template <Reduction kReduction, bool kAlone, typename T>
__global__ void ReduceKernel(Strides kept, Strides summed, int64_t kept_count, int64_t summed_count,
                             const T* x, T* y) {
  using A = Accumulator<kReduction, T>;
  using R = Reducer<kReduction, A>;
  const int64_t first = kAlone ? cuda::GlobalThread() : blockIdx.x;
  const int64_t step = kAlone ? cuda::GlobalThreads() : gridDim.x;
  for (int64_t e = first; e < kept_count; e += step) {
    const int64_t base = Locate(kept, e).at[0];
    A value = R::Init();
    for (int64_t k = kAlone ? 0 : threadIdx.x; k < summed_count; k += kAlone ? 1 : blockDim.x) {
      value = R()(value, R::Map(static_cast<A>(Widen(x[base + Locate(summed, k).at[0]]))));
    }
    if constexpr (!kAlone) value = cuda::BlockReduce<cuda::kThreads>(value, R());
    if (kAlone || threadIdx.x == 0) {
      y[e] = Narrow<T>(static_cast<Arithmetic<T>>(R::Finish(value, summed_count)));
    }
  }
}

template <Reduction kReduction, typename T>
void Reduce(const Strides& kept, const Strides& summed, int64_t kept_count, int64_t summed_count,
            const T* x, T* y, cuda::Stream stream) {
  if (kept_count == 0) return;
  // If neighbouring results reduce neighbouring elements, neighbouring threads read neighbouring
  // elements.
  const bool columns = kept.dims > 0 && kept.stride[0][kept.dims - 1] == 1 && kept_count >= 4096;
  if (summed_count <= kShort || columns) {
    cuda::Launch("Reduce", ReduceKernel<kReduction, true, T>, cuda::BlocksFor(kept_count),
                 cuda::kThreads, stream, kept, summed, kept_count, summed_count, x, y);
  } else {
    cuda::Launch("ReduceByBlock", ReduceKernel<kReduction, false, T>,
                 static_cast<unsigned>(std::min<int64_t>(kept_count, 1 << 20)), cuda::kThreads,
                 stream, kept, summed, kept_count, summed_count, x, y);
  }
}

// The same with strides in place of spaces, and lengths.
template <Reduction kReduction, typename T>
__global__ void ReduceSideKernel(SideLayout l, const T* x, T* y) {
  using A = Accumulator<kReduction, T>;
  using R = Reducer<kReduction, A>;
  for (int64_t j = blockIdx.x; j < l.results; j += gridDim.x) {
    const int64_t count = l.lengths != nullptr ? l.lengths[j] : l.count;
    A value = R::Init();
    for (int64_t k = threadIdx.x; k < count; k += blockDim.x) {
      value = R()(value, static_cast<A>(Widen(x[j * l.result_stride + k * l.stride])));
    }
    value = cuda::BlockReduce<cuda::kThreads>(value, R());
    if (threadIdx.x != 0) continue;
    const A result = kReduction == Reduction::kMean && count == 0 ? A(0) : R::Finish(value, count);
    y[j] = Narrow<T>(static_cast<Arithmetic<T>>(result));
  }
}

template <Reduction kReduction, typename T>
void ReduceSide(const SideLayout& layout, const T* x, T* y, cuda::Stream stream) {
  if (layout.results == 0) return;
  cuda::Launch("ReduceSide", ReduceSideKernel<kReduction, T>,
               static_cast<unsigned>(std::min<int64_t>(layout.results, 1 << 16)), cuda::kThreads,
               stream, layout, x, y);
}

}  // namespace

#define FOR_REDUCTION(function, ...)                  \
  switch (reduction) {                                \
    case Reduction::kSum:                             \
      return function<Reduction::kSum>(__VA_ARGS__);  \
    case Reduction::kMean:                            \
      return function<Reduction::kMean>(__VA_ARGS__); \
    case Reduction::kMax:                             \
      return function<Reduction::kMax>(__VA_ARGS__);  \
    case Reduction::kMin:                             \
      return function<Reduction::kMin>(__VA_ARGS__);  \
    case Reduction::kL1:                              \
      return function<Reduction::kL1>(__VA_ARGS__);   \
    case Reduction::kL2:                              \
      return function<Reduction::kL2>(__VA_ARGS__);   \
  }

template <typename T>
void LaunchReduce(Reduction reduction, const Strides& kept, const Strides& summed,
                  int64_t kept_count, int64_t summed_count, const T* x, T* y, cuda::Stream stream) {
  FOR_REDUCTION(Reduce, kept, summed, kept_count, summed_count, x, y, stream)
}

template <typename T>
void LaunchReduceGradient(Reduction reduction, const Strides& space, int64_t n, int64_t count,
                          const T* dy, const T* x, const T* y, T* dx, cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::ForEach("ReduceGradient", n, stream, [=] __device__(int64_t i) {
    const int64_t j = Locate(space, i).at[1];
    const A g = Widen(dy[j]), own = Widen(x[i]), result = Widen(y[j]);
    A value = g;
    switch (reduction) {
      case Reduction::kSum:
        break;
      case Reduction::kMean:
        value = g / static_cast<A>(count);
        break;
      case Reduction::kMax:
      case Reduction::kMin:
        value = own == result ? g : A(0);
        break;
      case Reduction::kL1:
        value = own == A(0) ? A(0) : own > A(0) ? g : -g;
        break;
      case Reduction::kL2:
        value = result == A(0) ? A(0) : g * own / result;
        break;
    }
    dx[i] = Narrow<T>(value);
  });
}

template <typename T>
void LaunchReduceSide(Reduction reduction, const SideLayout& layout, const T* x, T* y,
                      cuda::Stream stream) {
  switch (reduction) {
    case Reduction::kMean:
      return ReduceSide<Reduction::kMean>(layout, x, y, stream);
    case Reduction::kMax:
      return ReduceSide<Reduction::kMax>(layout, x, y, stream);
    default:
      return ReduceSide<Reduction::kSum>(layout, x, y, stream);
  }
}

template <typename T>
void LaunchReduceSideGradient(Reduction reduction, const SideLayout& layout, const T* dy,
                              const T* x, const T* y, T* dx, cuda::Stream stream) {
  using A = Arithmetic<T>;
  const SideLayout l = layout;
  cuda::ForEach("ReduceSideGradient", l.results * l.count, stream, [=] __device__(int64_t i) {
    const int64_t j = l.stride == 1 ? i / l.count : i % l.results;
    const int64_t k = l.stride == 1 ? i % l.count : i / l.results;
    const int64_t count = l.lengths != nullptr ? l.lengths[j] : l.count;
    A value = k < count ? Widen(dy[j]) : A(0);
    if (reduction == Reduction::kMean && k < count) value /= static_cast<A>(count);
    if (reduction == Reduction::kMax && Widen(x[i]) != Widen(y[j])) value = A(0);
    dx[i] = Narrow<T>(value);
  });
}

#define INSTANTIATE(T)                                                                       \
  template void LaunchReduce<T>(Reduction, const Strides&, const Strides&, int64_t, int64_t, \
                                const T*, T*, cuda::Stream);                                 \
  template void LaunchReduceSide<T>(Reduction, const SideLayout&, const T*, T*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);
#define INSTANTIATE_GRADIENT(T)                                                                \
  template void LaunchReduceGradient<T>(Reduction, const Strides&, int64_t, int64_t, const T*, \
                                        const T*, const T*, T*, cuda::Stream);                 \
  template void LaunchReduceSideGradient<T>(Reduction, const SideLayout&, const T*, const T*,  \
                                            const T*, T*, cuda::Stream)
INSTANTIATE_GRADIENT(float);
INSTANTIATE_GRADIENT(double);
INSTANTIATE_GRADIENT(float16);
INSTANTIATE_GRADIENT(bfloat16);

}  // namespace caffe2
