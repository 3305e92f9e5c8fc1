#include <limits>

#include "operators/reduce_kernels.h"
#include "operators/strided_kernel.h"

namespace caffe2 {
namespace {

constexpr int64_t kShort = 32;  // reductions up to here are one thread's work

constexpr bool IsExtreme(Reduction r) { return r == Reduction::kMax || r == Reduction::kMin; }
// Long sums of floats would lose digits in float.
template <Reduction kReduction, typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, float> && !IsExtreme(kReduction), double, T>;

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
      value = R()(value, R::Map(static_cast<A>(x[base + Locate(summed, k).at[0]])));
    }
    if constexpr (!kAlone) value = cuda::BlockReduce<cuda::kThreads>(value, R());
    if (kAlone || threadIdx.x == 0) y[e] = static_cast<T>(R::Finish(value, summed_count));
  }
}

template <Reduction kReduction, typename T>
void Reduce(const Strides& kept, const Strides& summed, int64_t kept_count, int64_t summed_count,
            const T* x, T* y, cuda::Stream stream) {
  if (kept_count == 0) return;
  // Neighbouring results of neighbouring elements: threads side by side read side by side.
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
  cuda::ForEach("ReduceGradient", n, stream, [=] __device__(int64_t i) {
    const int64_t j = Locate(space, i).at[1];
    const T g = dy[j], own = x[i];
    switch (reduction) {
      case Reduction::kSum:
        dx[i] = g;
        break;
      case Reduction::kMean:
        dx[i] = g / static_cast<T>(count);
        break;
      case Reduction::kMax:
      case Reduction::kMin:
        dx[i] = own == y[j] ? g : T(0);
        break;
      case Reduction::kL1:
        dx[i] = own == T(0) ? T(0) : own > T(0) ? g : -g;
        break;
      case Reduction::kL2:
        dx[i] = y[j] == T(0) ? T(0) : g * own / y[j];
        break;
    }
  });
}

#define INSTANTIATE(T)                                                                       \
  template void LaunchReduce<T>(Reduction, const Strides&, const Strides&, int64_t, int64_t, \
                                const T*, T*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);
#define INSTANTIATE_GRADIENT(T)                                                                \
  template void LaunchReduceGradient<T>(Reduction, const Strides&, int64_t, int64_t, const T*, \
                                        const T*, const T*, T*, cuda::Stream)
INSTANTIATE_GRADIENT(float);
INSTANTIATE_GRADIENT(double);

}  // namespace caffe2
