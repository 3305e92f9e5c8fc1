// Kernels of functions of two numbers.
#include "operators/activation/prelu_functions.h"
#include "operators/common/host_device_kernel.h"
#include "operators/common/strided_kernel.h"
#include "operators/elementwise/arithmetic_op.h"
#include "operators/elementwise/binary_kernels.h"
#include "operators/elementwise/bitwise_op.h"
#include "operators/elementwise/comparison_op.h"
#include "operators/elementwise/derivative_functions.h"
#include "operators/elementwise/pow_op.h"

namespace caffe2 {

template <class F, typename R, typename A, typename B>
void LaunchMapStrided(const F& f, const Strides& space, int64_t n, cuda::Stream stream, R* c,
                      const A* a, const B* b) {
  cuda::ForEach(F::kName, n, stream, [=] __device__(int64_t i) {
    const Offsets offsets = Locate(space, i);
    c[i] = cuda::Narrow<R>(f(cuda::Widen(a[offsets.at[0]]), cuda::Widen(b[offsets.at[1]])));
  });
}

// One block for each element of the gradient, or with `kAlone` (nothing to sum) one thread.
template <bool kAlone, class D, typename T>
static __global__ void SumDerivativeKernel(D derivative, Strides kept, Strides summed,
                                           int64_t kept_count, int64_t summed_count, T* gradient,
                                           const T* dc, const T* a, const T* b) {
  using A = cuda::Arithmetic<T>;
  const int64_t first = kAlone ? cuda::GlobalThread() : blockIdx.x;
  const int64_t step = kAlone ? cuda::GlobalThreads() : gridDim.x;
  for (int64_t e = first; e < kept_count; e += step) {
    const Offsets base = Locate(kept, e);
    // -0 plus a term is the term, also if that is -0.
    A sum = kAlone && summed_count == 1 ? -A(0) : A(0);
    for (int64_t k = kAlone ? 0 : threadIdx.x; k < summed_count; k += kAlone ? 1 : blockDim.x) {
      const Offsets part = Locate(summed, k);
      const A g = cuda::Widen(dc[base.at[0] + part.at[0]]);
      if constexpr (D::kReadsOperands) {
        sum += derivative(g, static_cast<A>(cuda::Widen(a[base.at[1] + part.at[1]])),
                          static_cast<A>(cuda::Widen(b[base.at[2] + part.at[2]])));
      } else {
        sum += derivative(g);
      }
    }
    if constexpr (!kAlone) sum = cuda::BlockSum<cuda::kThreads>(sum);
    if (kAlone || threadIdx.x == 0) gradient[e] = cuda::Narrow<T>(sum);
  }
}

template <class D, typename T>
void LaunchSumDerivative(const D& derivative, const Strides& kept, const Strides& summed,
                         int64_t kept_count, int64_t summed_count, cuda::Stream stream, T* gradient,
                         const T* dc, const T* a, const T* b) {
  if (kept_count == 0) return;
  if (summed_count <= 1) {
    cuda::Launch(D::kName, SumDerivativeKernel<true, D, T>, cuda::BlocksFor(kept_count),
                 cuda::kThreads, stream, derivative, kept, summed, kept_count, summed_count,
                 gradient, dc, a, b);
  } else {
    cuda::Launch(D::kName, SumDerivativeKernel<false, D, T>,
                 static_cast<unsigned>(std::min<int64_t>(kept_count, 1 << 20)), cuda::kThreads,
                 stream, derivative, kept, summed, kept_count, summed_count, gradient, dc, a, b);
  }
}

template <typename T>
void LaunchDivisorCheck(int64_t n, const T* b, cuda::KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("DivisorCheck", n, stream, [=] __device__(int64_t i) {
    if (b[i] == 0) cuda::Report(report, cuda::KernelReport::kDivisionByZero, 0);
  });
}
template void LaunchDivisorCheck(int64_t, const int32_t*, cuda::KernelReport*, cuda::Stream);
template void LaunchDivisorCheck(int64_t, const int64_t*, cuda::KernelReport*, cuda::Stream);

#define INSTANTIATE_PAIR(functor, R, A, B)                                                  \
  template void LaunchMap(const functor&, int64_t, cuda::Stream, R*, const A*, const B*);   \
  template void LaunchMapStrided(const functor&, const Strides&, int64_t, cuda::Stream, R*, \
                                 const A*, const B*)
#define INSTANTIATE(functor, R, T) INSTANTIATE_PAIR(functor, R, T, T)

#define INSTANTIATE_DERIVATIVE(derivative, T)                                                   \
  template void LaunchSumDerivative(const derivative&, const Strides&, const Strides&, int64_t, \
                                    int64_t, cuda::Stream, T*, const T*, const T*, const T*)
#define INSTANTIATE_DERIVATIVES(functor, T)                     \
  INSTANTIATE_DERIVATIVE(host_device::DerivativeA<functor>, T); \
  INSTANTIATE_DERIVATIVE(host_device::DerivativeB<functor>, T)

#define INSTANTIATE_REAL(T)                          \
  INSTANTIATE(AddFunction, T, T);                    \
  INSTANTIATE(SubFunction, T, T);                    \
  INSTANTIATE(MulFunction, T, T);                    \
  INSTANTIATE(DivFunction, T, T);                    \
  INSTANTIATE(PowOfTensorsFunction, T, T);           \
  INSTANTIATE_DERIVATIVES(AddFunction, T);           \
  INSTANTIATE_DERIVATIVES(SubFunction, T);           \
  INSTANTIATE_DERIVATIVES(MulFunction, T);           \
  INSTANTIATE_DERIVATIVES(DivFunction, T);           \
  INSTANTIATE_DERIVATIVES(DivFunction::OfResult, T); \
  INSTANTIATE_DERIVATIVES(PowOfTensorsFunction, T)
INSTANTIATE_REAL(float);
INSTANTIATE_REAL(double);
INSTANTIATE_REAL(float16);
INSTANTIATE_REAL(bfloat16);

#define INSTANTIATE_INTEGER(T)    \
  INSTANTIATE(AddFunction, T, T); \
  INSTANTIATE(SubFunction, T, T); \
  INSTANTIATE(MulFunction, T, T); \
  INSTANTIATE(DivFunction, T, T)
INSTANTIATE_INTEGER(int32_t);
INSTANTIATE_INTEGER(int64_t);

#define INSTANTIATE_EQUALITY(T)        \
  INSTANTIATE(EqualFunction, bool, T); \
  INSTANTIATE(NotEqualFunction, bool, T)
#define INSTANTIATE_ORDER(T)               \
  INSTANTIATE_EQUALITY(T);                 \
  INSTANTIATE(LessFunction, bool, T);      \
  INSTANTIATE(LessEqualFunction, bool, T); \
  INSTANTIATE(GreaterFunction, bool, T);   \
  INSTANTIATE(GreaterEqualFunction, bool, T)
INSTANTIATE_ORDER(float);
INSTANTIATE_ORDER(double);
INSTANTIATE_ORDER(float16);
INSTANTIATE_ORDER(bfloat16);
INSTANTIATE_ORDER(int32_t);
INSTANTIATE_ORDER(int64_t);
INSTANTIATE_ORDER(uint8_t);
INSTANTIATE_EQUALITY(bool);
INSTANTIATE(AndFunction, bool, bool);
INSTANTIATE(OrFunction, bool, bool);

INSTANTIATE_PAIR(PReluFunction, float, float, float);
INSTANTIATE_PAIR(PReluFunction, float16, float16, float);
INSTANTIATE_PAIR(PReluFunction, bfloat16, bfloat16, float);

#define INSTANTIATE_BITS(T)          \
  INSTANTIATE(BitAndFunction, T, T); \
  INSTANTIATE(BitOrFunction, T, T);  \
  INSTANTIATE(BitXorFunction, T, T)
INSTANTIATE_BITS(int32_t);
INSTANTIATE_BITS(int64_t);
INSTANTIATE_BITS(bool);

}  // namespace caffe2
