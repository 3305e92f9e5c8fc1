// Kernels of SpatialSoftmaxWithLoss: one thread for each pixel, so that neighbouring threads read
// neighbouring pixels of each class.
#include "caffe2/cuda/kernel.h"
#include "operators/loss/spatial_softmax_kernels.h"

namespace caffe2 {

using cuda::KernelReport;
using cuda::Narrow;
using cuda::Widen;

namespace {

constexpr float kMaxLoss = 46.0517019f;  // -log(1e-20)

// False for a label that is reported.
__device__ inline bool CheckLabelAt(const PixelLabels& pixels, int64_t i, KernelReport* report) {
  const int label = pixels.labels[i];
  if (label == kIgnoredLabel || (label >= 0 && label < pixels.classes)) return true;
  cuda::Report(report, KernelReport::kLabelOutOfRange, i, label, pixels.classes);
  return false;
}

}  // namespace

template <typename T>
void LaunchSpatialSoftmax(const PixelLabels& pixels, const T* x, T* p, float* losses,
                          float* weights, KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("SpatialSoftmax", pixels.batch * pixels.area, stream, [=] __device__(int64_t i) {
    const int64_t first = pixels.First(i), step = pixels.area;
    float max = -INFINITY, sum = 0;
    for (int64_t c = 0; c < pixels.classes; ++c) {
      const float value = Widen(x[first + c * step]);
      max = value > max || value != value ? value : max;
    }
    for (int64_t c = 0; c < pixels.classes; ++c) sum += expf(Widen(x[first + c * step]) - max);
    const float inverse = 1 / sum;
    for (int64_t c = 0; c < pixels.classes; ++c) {
      p[first + c * step] = Narrow<T>(expf(Widen(x[first + c * step]) - max) * inverse);
    }
    const int label = pixels.labels[i];
    weights[i] = pixels.Weight(i);
    losses[i] = label == kIgnoredLabel ? 0 : NAN;
    if (label == kIgnoredLabel || !CheckLabelAt(pixels, i, report)) return;
    // Computed from the logits, because 16 bits cannot hold small probabilities.
    const float loss = logf(sum) + max - Widen(x[first + label * step]);
    losses[i] = weights[i] * (loss > kMaxLoss ? kMaxLoss : loss);
  });
}

void LaunchPixelWeights(const PixelLabels& pixels, float* weights, cuda::Stream stream) {
  cuda::ForEach("PixelWeights", pixels.batch * pixels.area, stream,
                [=] __device__(int64_t i) { weights[i] = pixels.Weight(i); });
}

template <typename T>
void LaunchSpatialSoftmaxGradient(const PixelLabels& pixels, const T* p, const float* total_weight,
                                  const Rate& d_loss, float scale, T* dx, KernelReport* report,
                                  cuda::Stream stream) {
  cuda::ForEach("SpatialSoftmaxGradient", pixels.batch * pixels.area, stream,
                [=] __device__(int64_t i) {
                  const float total = *total_weight;
                  float factor = total > 0 ? scale / total * d_loss() * pixels.Weight(i) : 0.f;
                  if (!CheckLabelAt(pixels, i, report)) factor = NAN;
                  const int64_t first = pixels.First(i);
                  const int label = pixels.labels[i];
                  for (int64_t c = 0; c < pixels.classes; ++c) {
                    const int64_t at = first + c * pixels.area;
                    dx[at] = Narrow<T>((Widen(p[at]) - (c == label ? 1.f : 0.f)) * factor);
                  }
                });
}

#define INSTANTIATE(T)                                                                      \
  template void LaunchSpatialSoftmax<T>(const PixelLabels&, const T*, T*, float*, float*,   \
                                        KernelReport*, cuda::Stream);                       \
  template void LaunchSpatialSoftmaxGradient<T>(const PixelLabels&, const T*, const float*, \
                                                const Rate&, float, T*, KernelReport*,      \
                                                cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
