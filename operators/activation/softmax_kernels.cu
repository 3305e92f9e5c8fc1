// Kernels of Softmax, and of SoftmaxWithLoss, LabelCrossEntropy, Accuracy and AveragedLoss.
#include "caffe2/cuda/kernel.h"
#include "operators/activation/softmax_kernels.h"

namespace caffe2 {
namespace {

using cuda::BlockReduce;
using cuda::BlockSum;
using cuda::KernelReport;
using cuda::kThreads;
using cuda::Narrow;
using cuda::Widen;

constexpr float kMinProbability =
    1e-20f;                             // the logarithm of a smaller probability is taken of this
constexpr float kSumTolerance = 1e-4f;  // for the sum of a row of label probabilities

// One block for each row, in turns.
unsigned RowBlocks(int64_t n) {
  return static_cast<unsigned>(n < 1 ? 1 : n > (1 << 20) ? 1 << 20 : n);
}

// Writes the softmax of a row and returns log(sum exp) to all threads. Subtracts the maximum first,
// so that nothing overflows.
template <typename T>
__device__ float SoftmaxRow(int64_t d, const T* x, T* y) {
  float max = -INFINITY;
  for (int64_t j = threadIdx.x; j < d; j += kThreads) {
    const float value = Widen(x[j]);
    max = value > max ? value : max;
  }
  max = BlockReduce<kThreads>(max, cuda::MaxOf());
  float sum = 0;
  for (int64_t j = threadIdx.x; j < d; j += kThreads) sum += expf(Widen(x[j]) - max);
  sum = BlockSum<kThreads>(sum);
  const float scale = 1.f / sum;
  for (int64_t j = threadIdx.x; j < d; j += kThreads) {
    y[j] = Narrow<T>(expf(Widen(x[j]) - max) * scale);
  }
  return max + logf(sum);
}

template <typename T>
__global__ void SoftmaxKernel(int64_t n, int64_t d, const T* x, T* y) {
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) SoftmaxRow(d, x + i * d, y + i * d);
}

template <typename T>
__global__ void SoftmaxGradientKernel(int64_t n, int64_t d, const T* y, const T* dy, T* dx) {
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    const int64_t row = i * d;
    float dot = 0;
    for (int64_t j = threadIdx.x; j < d; j += kThreads) {
      dot += Widen(y[row + j]) * Widen(dy[row + j]);
    }
    dot = BlockSum<kThreads>(dot);
    for (int64_t j = threadIdx.x; j < d; j += kThreads) {
      dx[row + j] = Narrow<T>(Widen(y[row + j]) * (Widen(dy[row + j]) - dot));
    }
  }
}

// -sum t log p of a row, returned to all threads.
template <typename T>
__device__ float DistributionLoss(int64_t row, int64_t d, const T* p, const float* t,
                                  KernelReport* report) {
  float loss = 0, total = 0, negative = 0;
  for (int64_t j = threadIdx.x; j < d; j += kThreads) {
    const float probability = Widen(p[j]);
    loss -= logf(probability > kMinProbability ? probability : kMinProbability) * t[j];
    total += t[j];
    negative += t[j] >= 0 ? 0.f : 1.f;
  }
  loss = BlockSum<kThreads>(loss);
  total = BlockSum<kThreads>(total);
  negative = BlockSum<kThreads>(negative);
  const bool off = !(fabsf(total - 1) < kSumTolerance);
  if (threadIdx.x == 0 && negative > 0) {
    cuda::Report(report, KernelReport::kNegativeLabel, row);
  } else if (threadIdx.x == 0 && off) {
    cuda::Report(report, KernelReport::kLabelSum, row, 0, 0, total);
  }
  return negative > 0 || off ? NAN : loss;
}

template <typename T>
__global__ void SoftmaxLossKernel(int64_t n, int64_t d, const T* x, RowLabels labels, T* p,
                                  float* losses, KernelReport* report) {
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    const float log_sum = SoftmaxRow(d, x + i * d, p + i * d);
    float loss = NAN;
    if (labels.probability != nullptr) {
      __syncthreads();  // the row of p is written
      loss = DistributionLoss(i, d, p + i * d, labels.probability + i * d, report);
    } else if (labels.index[i] >= 0 && labels.index[i] < d) {
      loss = log_sum - Widen(x[i * d + labels.index[i]]);
    } else if (threadIdx.x == 0) {
      cuda::Report(report, KernelReport::kLabelOutOfRange, i, labels.index[i], d);
    }
    if (threadIdx.x == 0) losses[i] = loss * (labels.weight != nullptr ? labels.weight[i] : 1.f);
  }
}

// With `factor` only the weights are summed, and *result = scale / sum of weights * *factor.
__global__ void AverageKernel(int64_t n, const float* losses, const float* weights, double scale,
                              const float* factor, float* result) {
  double sum = 0, weight = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    if (factor == nullptr) sum += losses[i];
    weight += weights != nullptr ? weights[i] : 1.f;
  }
  sum = BlockSum<kThreads>(sum);
  weight = BlockSum<kThreads>(weight);
  if (threadIdx.x != 0) return;
  if (factor != nullptr) sum = *factor;
  *result = weight != 0 ? static_cast<float>(scale * sum / weight) : 0.f;
}

template <typename T>
__global__ void SoftmaxLossGradientKernel(int64_t n, int64_t d, const T* p, RowLabels labels,
                                          const float* factor, T* dx, KernelReport* report) {
  for (int64_t k = cuda::GlobalThread(); k < n * d; k += cuda::GlobalThreads()) {
    const int64_t i = k / d, j = k % d;
    const float scale = *factor * (labels.weight != nullptr ? labels.weight[i] : 1.f);
    float target;
    if (labels.probability != nullptr) {
      target = labels.probability[k];
    } else {
      const int label = labels.index[i];
      if (j == 0 && (label < 0 || label >= d)) {
        cuda::Report(report, KernelReport::kLabelOutOfRange, i, label, d);
      }
      target = j == label ? 1.f : 0.f;
    }
    dx[k] = Narrow<T>((Widen(p[k]) - target) * scale);
  }
}

template <typename T>
__global__ void TopHitsKernel(int64_t n, int64_t d, int k, const T* x, const int* labels,
                              float* hits, KernelReport* report) {
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    const int label = labels[i];
    if (label < 0 || label >= d) {  // the same for all threads
      if (threadIdx.x == 0) {
        cuda::Report(report, KernelReport::kLabelOutOfRange, i, label, d);
        hits[i] = 0;
      }
      continue;
    }
    const T* row = x + i * d;
    const float score = Widen(row[label]);
    int better = 0;
    for (int64_t j = threadIdx.x; j < d; j += kThreads) {
      const float other = Widen(row[j]);
      better += other > score || (other == score && j < label);
    }
    better = BlockSum<kThreads>(better);
    if (threadIdx.x == 0) hits[i] = score == score && better < k ? 1.f : 0.f;
  }
}

}  // namespace

template <typename T>
void LaunchSoftmax(int64_t n, int64_t d, const T* x, T* y, cuda::Stream stream) {
  if (n * d == 0) return;
  cuda::Launch("Softmax", SoftmaxKernel<T>, RowBlocks(n), kThreads, stream, n, d, x, y);
}
template <typename T>
void LaunchSoftmaxGradient(int64_t n, int64_t d, const T* y, const T* dy, T* dx,
                           cuda::Stream stream) {
  if (n * d == 0) return;
  cuda::Launch("SoftmaxGradient", SoftmaxGradientKernel<T>, RowBlocks(n), kThreads, stream, n, d, y,
               dy, dx);
}

template <typename T>
void LaunchSoftmaxLosses(int64_t n, int64_t d, const T* x, const RowLabels& labels, T* p,
                         float* losses, cuda::KernelReport* report, cuda::Stream stream) {
  if (n == 0) return;
  cuda::Launch("SoftmaxLoss", SoftmaxLossKernel<T>, RowBlocks(n), kThreads, stream, n, d, x, labels,
               p, losses, report);
}

void LaunchAverageLoss(int64_t n, const float* losses, const float* divisors, float scale,
                       float* loss, cuda::Stream stream) {
  cuda::Launch("AverageLoss", AverageKernel, 1, kThreads, stream, n, losses, divisors,
               static_cast<double>(scale), static_cast<const float*>(nullptr), loss);
}

template <typename T>
void LaunchSoftmaxLossGradient(int64_t n, int64_t d, const T* p, const RowLabels& labels,
                               const float* d_loss, float scale, float* factor, T* dx,
                               cuda::KernelReport* report, cuda::Stream stream) {
  if (n * d == 0) return;
  cuda::Launch("LossFactor", AverageKernel, 1, kThreads, stream, n,
               static_cast<const float*>(nullptr), labels.divisor, static_cast<double>(scale),
               d_loss, factor);
  cuda::Launch("SoftmaxLossGradient", SoftmaxLossGradientKernel<T>, cuda::BlocksFor(n * d),
               kThreads, stream, n, d, p, labels, static_cast<const float*>(factor), dx, report);
}

void LaunchLabelCrossEntropy(int64_t n, int64_t d, const float* x, const int* labels, float* y,
                             cuda::KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("LabelCrossEntropy", n, stream, [=] __device__(int64_t i) {
    const int label = labels[i];
    if (label < 0 || label >= d) {
      cuda::Report(report, KernelReport::kLabelOutOfRange, i, label, d);
      y[i] = NAN;
      return;
    }
    const float probability = x[i * d + label];
    y[i] = -logf(probability > kMinProbability ? probability : kMinProbability);
  });
}
void LaunchLabelCrossEntropyGradient(int64_t n, int64_t d, const float* x, const int* labels,
                                     const float* dy, float* dx, cuda::KernelReport* report,
                                     cuda::Stream stream) {
  cuda::ForEach("LabelCrossEntropyGradient", n * d, stream, [=] __device__(int64_t k) {
    const int64_t i = k / d, j = k % d;
    const int label = labels[i];
    if (j == 0 && (label < 0 || label >= d)) {
      cuda::Report(report, KernelReport::kLabelOutOfRange, i, label, d);
    }
    const float probability = x[k] > kMinProbability ? x[k] : kMinProbability;
    dx[k] = j == label ? -dy[i] / probability : 0.f;
  });
}

template <typename T>
void LaunchTopHits(int64_t n, int64_t d, int k, const T* x, const int* labels, float* hits,
                   cuda::KernelReport* report, cuda::Stream stream) {
  if (n == 0) return;
  cuda::Launch("TopHits", TopHitsKernel<T>, RowBlocks(n), kThreads, stream, n, d, k, x, labels,
               hits, report);
}

#define INSTANTIATE(T)                                                                             \
  template void LaunchSoftmax<T>(int64_t, int64_t, const T*, T*, cuda::Stream);                    \
  template void LaunchSoftmaxGradient<T>(int64_t, int64_t, const T*, const T*, T*, cuda::Stream);  \
  template void LaunchSoftmaxLosses<T>(int64_t, int64_t, const T*, const RowLabels&, T*, float*,   \
                                       cuda::KernelReport*, cuda::Stream);                         \
  template void LaunchSoftmaxLossGradient<T>(int64_t, int64_t, const T*, const RowLabels&,         \
                                             const float*, float, float*, T*, cuda::KernelReport*, \
                                             cuda::Stream);                                        \
  template void LaunchTopHits<T>(int64_t, int64_t, int, const T*, const int*, float*,              \
                                 cuda::KernelReport*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
