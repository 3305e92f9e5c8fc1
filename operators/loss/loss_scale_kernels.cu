#include <cfloat>

#include "caffe2/cuda/kernel.h"
#include "operators/loss/loss_scale_kernels.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Widen;

// Each block along y handles one array. All threads that write the flag write the same value.
template <typename T>
__global__ void UnscaleKernel(ArrayList<T> arrays, bool write, const float* scale,
                              float* found_inf) {
  const int64_t n = arrays.size[blockIdx.y];
  T* x = arrays.data[blockIdx.y];
  const float divisor = *scale;
  bool finite = true;
  for (int64_t i = cuda::GlobalThread(); i < n; i += cuda::GlobalThreads()) {
    const float value = Widen(x[i]) / divisor;
    finite = finite && fabsf(value) <= FLT_MAX;
    if (write) x[i] = Narrow<T>(value);
  }
  if (!finite) *found_inf = 1.f;
}

}  // namespace

template <typename T>
void LaunchUnscale(const ArrayList<T>& arrays, bool write, const float* scale, float* found_inf,
                   cuda::Stream stream) {
  const int64_t largest = *std::max_element(arrays.size, arrays.size + arrays.count);
  cuda::Launch(
      "Unscale", UnscaleKernel<T>,
      dim3(static_cast<unsigned>(cuda::BlocksFor(largest)), static_cast<unsigned>(arrays.count)),
      cuda::kThreads, stream, arrays, write, scale, found_inf);
}
template void LaunchUnscale(const ArrayList<float>&, bool, const float*, float*, cuda::Stream);
template void LaunchUnscale(const ArrayList<float16>&, bool, const float*, float*, cuda::Stream);
template void LaunchUnscale(const ArrayList<bfloat16>&, bool, const float*, float*, cuda::Stream);

void LaunchUpdateLossScale(const LossScaleRule& rule, const float* found_inf, const float* scale,
                           const int32_t* good_steps, float* scale_out, int32_t* good_steps_out,
                           cuda::Stream stream) {
  cuda::ForEach("UpdateLossScale", 1, stream, [=] __device__(int64_t) {
    const LossScaleState next = NextLossScale(rule, {*scale, *good_steps}, *found_inf != 0);
    *scale_out = next.scale;
    *good_steps_out = next.good_steps;
  });
}

}  // namespace caffe2
