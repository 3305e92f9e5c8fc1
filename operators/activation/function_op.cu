// Kernels of the functions of activation_functions.h.
#include "caffe2/cuda/kernel.h"
#include "operators/activation/activation_functions.h"
#include "operators/activation/function_kernels.h"

namespace caffe2 {

template <class F, typename T>
void LaunchFunction(const F& f, int64_t n, const T* x, T* y, cuda::Stream stream) {
  cuda::Map(
      F::kName, n, stream, [f] __device__(float v) { return f.Value(v); }, y, x);
}
template <class F, typename T>
void LaunchFunctionGradient(const F& f, int64_t n, const T* saved, const T* dy, T* dx,
                            cuda::Stream stream) {
  cuda::Map(
      F::kName, n, stream, [f] __device__(float s, float d) { return f.Gradient(s, d); }, dx, saved,
      dy);
}

#define INSTANTIATE(F, T)                                                      \
  template void LaunchFunction(const F&, int64_t, const T*, T*, cuda::Stream); \
  template void LaunchFunctionGradient(const F&, int64_t, const T*, const T*, T*, cuda::Stream);
#define INSTANTIATE_ALL(F) \
  INSTANTIATE(F, float)    \
  INSTANTIATE(F, float16)  \
  INSTANTIATE(F, bfloat16)
CAFFE2_FOR_ALL_FUNCTIONS(INSTANTIATE_ALL)

}  // namespace caffe2
