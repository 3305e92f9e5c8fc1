#include <cfloat>

#include "caffe2/cuda/kernel.h"
#include "operators/optimizer/clip_by_global_norm_kernels.h"

namespace caffe2 {
namespace {

// Blocks along y handle one array each.
__global__ void PartialSquaresKernel(ArrayList<float> arrays, double* sums) {
  const int64_t n = arrays.size[blockIdx.y];
  const float* x = arrays.data[blockIdx.y];
  double sum = 0;
  for (int64_t i = cuda::GlobalThread(); i < n; i += cuda::GlobalThreads()) {
    sum += static_cast<double>(x[i]) * x[i];
  }
  sum = cuda::BlockSum<cuda::kThreads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.y * kSquaresParts + blockIdx.x] = sum;
}

__global__ void NormKernel(int64_t n, const double* sums, float* norm) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += cuda::kThreads) sum += sums[i];
  sum = cuda::BlockSum<cuda::kThreads>(sum);
  if (threadIdx.x == 0) *norm = static_cast<float>(sqrt(sum));
}

__global__ void ClipKernel(ArrayList<float> arrays, float max_norm, const float* norm) {
  const float value = *norm;
  if (!(value > max_norm && value <= FLT_MAX)) return;
  const float factor = max_norm / value;
  const int64_t n = arrays.size[blockIdx.y];
  float* x = arrays.data[blockIdx.y];
  for (int64_t i = cuda::GlobalThread(); i < n; i += cuda::GlobalThreads()) x[i] *= factor;
}

}  // namespace

void LaunchPartialSquares(const ArrayList<float>& arrays, double* sums, cuda::Stream stream) {
  cuda::Launch("PartialSquares", PartialSquaresKernel,
               dim3(kSquaresParts, static_cast<unsigned>(arrays.count)), cuda::kThreads, stream,
               arrays, sums);
}

void LaunchNorm(int64_t n, const double* sums, float* norm, cuda::Stream stream) {
  cuda::Launch("Norm", NormKernel, 1, cuda::kThreads, stream, n, sums, norm);
}

void LaunchClip(const ArrayList<float>& arrays, float max_norm, const float* norm,
                cuda::Stream stream) {
  const int64_t largest = *std::max_element(arrays.size, arrays.size + arrays.count);
  cuda::Launch(
      "Clip", ClipKernel,
      dim3(static_cast<unsigned>(cuda::BlocksFor(largest)), static_cast<unsigned>(arrays.count)),
      cuda::kThreads, stream, arrays, max_norm, norm);
}

}  // namespace caffe2
