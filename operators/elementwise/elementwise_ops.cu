#include "caffe2/cuda/kernel.h"
#include "operators/common/strided_kernel.h"
#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {
namespace {

using cuda::Arithmetic;
using cuda::Narrow;
using cuda::Widen;

template <typename T, class F>
void Binary(const char* name, const Strides& space, bool plain, int64_t n, const T* a, const T* b,
            T* c, cuda::Stream stream, F f) {
  if (plain) return cuda::Map(name, n, stream, f, c, a, b);
  cuda::ForEach(name, n, stream, [=] __device__(int64_t i) {
    const Offsets offsets = Locate(space, i);
    c[i] = Narrow<T>(f(Widen(a[offsets.at[0]]), Widen(b[offsets.at[1]])));
  });
}

template <typename A>
__device__ inline A Divide(A a, A b, cuda::KernelReport* report) {
  if constexpr (std::is_integral_v<A>) {
    if (b == 0) {
      cuda::Report(report, cuda::KernelReport::kDivisionByZero, 0);
      return 0;
    }
    if (b == -1) return static_cast<A>(0 - static_cast<std::make_unsigned_t<A>>(a));
  }
  return a / b;
}

template <Derivative kDerivative, typename A>
__device__ inline A Derive(A dc, A a, A b) {
  switch (kDerivative) {
    case Derivative::kAddA:
    case Derivative::kAddB:
      return dc;
    case Derivative::kSubB:
      return -dc;
    case Derivative::kMulA:
      return dc * b;
    case Derivative::kMulB:
      return dc * a;
    case Derivative::kDivA:
      return dc / b;
    case Derivative::kDivB:
      return -dc * a / (b * b);
    case Derivative::kDivBOfResult:
      return -dc * a / b;
    case Derivative::kPowA:
      return b == A(0) ? A(0) : dc * b * std::pow(a, b - A(1));
    case Derivative::kPowB:  // it tends to 0 with a
      return a == A(0) && b >= A(0) ? A(0) : dc * std::pow(a, b) * std::log(a);
  }
  return dc;
}
constexpr bool ReadsBoth(Derivative d) {
  return d == Derivative::kDivB || d == Derivative::kDivBOfResult || d == Derivative::kPowA ||
         d == Derivative::kPowB;
}
constexpr bool ReadsA(Derivative d) { return d == Derivative::kMulB || ReadsBoth(d); }
constexpr bool ReadsB(Derivative d) {
  return d == Derivative::kMulA || d == Derivative::kDivA || ReadsBoth(d);
}

// One block for each element of the gradient, or with `kAlone` (nothing to sum) one thread.
template <Derivative kDerivative, bool kAlone, typename T>
__global__ void BinaryGradientKernel(Strides kept, Strides summed, int64_t kept_count,
                                     int64_t summed_count, const T* dc, const T* a, const T* b,
                                     T* gradient) {
  using A = Arithmetic<T>;
  const int64_t first = kAlone ? cuda::GlobalThread() : blockIdx.x;
  const int64_t step = kAlone ? cuda::GlobalThreads() : gridDim.x;
  for (int64_t e = first; e < kept_count; e += step) {
    const Offsets base = Locate(kept, e);
    A sum = 0;
    for (int64_t k = kAlone ? 0 : threadIdx.x; k < summed_count; k += kAlone ? 1 : blockDim.x) {
      const Offsets part = Locate(summed, k);
      const A g = Widen(dc[base.at[0] + part.at[0]]);
      A x = 0, y = 0;
      if constexpr (ReadsA(kDerivative)) x = Widen(a[base.at[1] + part.at[1]]);
      if constexpr (ReadsB(kDerivative)) y = Widen(b[base.at[2] + part.at[2]]);
      sum += Derive<kDerivative, A>(g, x, y);
    }
    if constexpr (!kAlone) sum = cuda::BlockSum<cuda::kThreads>(sum);
    if (kAlone || threadIdx.x == 0) gradient[e] = Narrow<T>(sum);
  }
}

template <Derivative kDerivative, typename T>
void LaunchDerivative(const Strides& kept, const Strides& summed, int64_t kept_count,
                      int64_t summed_count, const T* dc, const T* a, const T* b, T* gradient,
                      cuda::Stream stream) {
  if (kept_count == 0) return;
  if (summed_count <= 1) {
    cuda::Launch("BinaryGradient", BinaryGradientKernel<kDerivative, true, T>,
                 cuda::BlocksFor(kept_count), cuda::kThreads, stream, kept, summed, kept_count,
                 summed_count, dc, a, b, gradient);
  } else {
    cuda::Launch("BinaryGradientSum", BinaryGradientKernel<kDerivative, false, T>,
                 static_cast<unsigned>(std::min<int64_t>(kept_count, 1 << 20)), cuda::kThreads,
                 stream, kept, summed, kept_count, summed_count, dc, a, b, gradient);
  }
}

}  // namespace

template <typename T>
void LaunchBinary(BinaryFunction function, const Strides& space, bool plain, int64_t n, const T* a,
                  const T* b, T* c, cuda::KernelReport* report, cuda::Stream stream) {
  using A = Arithmetic<T>;
  switch (function) {
    case BinaryFunction::kAdd:
      return Binary("Add", space, plain, n, a, b, c, stream,
                    [] __device__(A x, A y) { return static_cast<A>(x + y); });
    case BinaryFunction::kSub:
      return Binary("Sub", space, plain, n, a, b, c, stream,
                    [] __device__(A x, A y) { return static_cast<A>(x - y); });
    case BinaryFunction::kMul:
      return Binary("Mul", space, plain, n, a, b, c, stream,
                    [] __device__(A x, A y) { return static_cast<A>(x * y); });
    case BinaryFunction::kDiv:
      return Binary("Div", space, plain, n, a, b, c, stream,
                    [report] __device__(A x, A y) { return Divide<A>(x, y, report); });
    default:
      break;
  }
  if constexpr (!std::is_integral_v<T>) {
    if (function == BinaryFunction::kPow) {
      Binary("Pow", space, plain, n, a, b, c, stream,
             [] __device__(A x, A y) { return std::pow(x, y); });
    }
  }
}

template <typename T>
void LaunchBinaryGradient(Derivative derivative, const Strides& kept, const Strides& summed,
                          int64_t kept_count, int64_t summed_count, const T* dc, const T* a,
                          const T* b, T* gradient, cuda::Stream stream) {
#define CASE(name)                                                                              \
  case Derivative::name:                                                                        \
    return LaunchDerivative<Derivative::name>(kept, summed, kept_count, summed_count, dc, a, b, \
                                              gradient, stream)
  switch (derivative) {
    CASE(kAddA);
    CASE(kAddB);
    CASE(kSubB);
    CASE(kMulA);
    CASE(kMulB);
    CASE(kDivA);
    CASE(kDivB);
    CASE(kDivBOfResult);
    CASE(kPowA);
    CASE(kPowB);
  }
#undef CASE
}

template <typename T>
void LaunchClip(int64_t n, float low, float high, const T* x, T* y, cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::Map(
      "Clip", n, stream,
      [low, high] __device__(A v) {
        return v < low ? static_cast<A>(low) : v > high ? static_cast<A>(high) : v;
      },
      y, x);
}
template <typename T>
void LaunchClipGradient(int64_t n, float low, float high, const T* y, const T* dy, T* dx,
                        cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::Map(
      "ClipGradient", n, stream,
      [low, high] __device__(A v, A d) { return v > low && v < high ? d : A(0); }, dx, y, dy);
}

template <typename T>
void LaunchScale(int64_t n, float scale, const T* x, T* y, cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::Map(
      "Scale", n, stream, [scale] __device__(A v) { return static_cast<A>(scale) * v; }, y, x);
}

template <typename T>
void LaunchFillFrom(int64_t n, float factor, const T* value, T* y, cuda::Stream stream) {
  using A = Arithmetic<T>;
  cuda::ForEach("FillFrom", n, stream, [=] __device__(int64_t i) {
    y[i] = Narrow<T>(static_cast<A>(factor) * Widen(*value));
  });
}

#define INSTANTIATE(T)                                                                             \
  template void LaunchBinary<T>(BinaryFunction, const Strides&, bool, int64_t, const T*, const T*, \
                                T*, cuda::KernelReport*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);
INSTANTIATE(int32_t);
INSTANTIATE(int64_t);

#define INSTANTIATE_FLOAT(T)                                                                      \
  template void LaunchBinaryGradient<T>(Derivative, const Strides&, const Strides&, int64_t,      \
                                        int64_t, const T*, const T*, const T*, T*, cuda::Stream); \
  template void LaunchClip<T>(int64_t, float, float, const T*, T*, cuda::Stream);                 \
  template void LaunchClipGradient<T>(int64_t, float, float, const T*, const T*, T*,              \
                                      cuda::Stream);                                              \
  template void LaunchScale<T>(int64_t, float, const T*, T*, cuda::Stream);                       \
  template void LaunchFillFrom<T>(int64_t, float, const T*, T*, cuda::Stream)
INSTANTIATE_FLOAT(float);
INSTANTIATE_FLOAT(double);
INSTANTIATE_FLOAT(float16);
INSTANTIATE_FLOAT(bfloat16);

}  // namespace caffe2
