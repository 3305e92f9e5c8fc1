// Softmax, losses and accuracy of rows on CUDA devices. Pointers are device memory. Arrays of n x d
// elements are row-major. T is float, float16 or bfloat16; losses are float. A label out of range
// and invalid label probabilities are reported (kernel_reports.h), and the results of their rows
// are NaN.
#pragma once

#include <cstdint>

#include "caffe2/cuda/runtime.h"

namespace caffe2 {

// y = softmax of each row of x, which may be the same array.
template <typename T>
void LaunchSoftmax(int64_t n, int64_t d, const T* x, T* y, cuda::Stream stream);
// dx = y * (dy - sum of y * dy over the row); dx may be dy.
template <typename T>
void LaunchSoftmaxGradient(int64_t n, int64_t d, const T* y, const T* dy, T* dx,
                           cuda::Stream stream);

// The labels of n rows: a class for each row, or a probability for each class; and a weight for
// each row (null: 1). Losses are divided by the sum of the divisors (null: n).
struct RowLabels {
  const int* index = nullptr;
  const float* probability = nullptr;
  const float* weight = nullptr;
  const float* divisor = nullptr;
};
// p = softmax(x); losses[i] = weight of row i times its cross entropy.
template <typename T>
void LaunchSoftmaxLosses(int64_t n, int64_t d, const T* x, const RowLabels& labels, T* p,
                         float* losses, cuda::KernelReport* report, cuda::Stream stream);
// *loss = scale * (sum of losses) / (sum of divisors, or n); 0 if they add up to 0.
void LaunchAverageLoss(int64_t n, const float* losses, const float* divisors, float scale,
                       float* loss, cuda::Stream stream);
// dx = (p - labels) * weight * scale / (sum of divisors) * d_loss. `factor` holds one float.
template <typename T>
void LaunchSoftmaxLossGradient(int64_t n, int64_t d, const T* p, const RowLabels& labels,
                               const float* d_loss, float scale, float* factor, T* dx,
                               cuda::KernelReport* report, cuda::Stream stream);

// y[i] = -log(max(x[i, label[i]], 1e-20)), and its gradient.
void LaunchLabelCrossEntropy(int64_t n, int64_t d, const float* x, const int* labels, float* y,
                             cuda::KernelReport* report, cuda::Stream stream);
void LaunchLabelCrossEntropyGradient(int64_t n, int64_t d, const float* x, const int* labels,
                                     const float* dy, float* dx, cuda::KernelReport* report,
                                     cuda::Stream stream);

// hits[i] = 1 if fewer than k classes of row i have a better prediction than its label, else 0.
// Among equal predictions the first counts as better. A NaN is never a hit.
template <typename T>
void LaunchTopHits(int64_t n, int64_t d, int k, const T* x, const int* labels, float* hits,
                   cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
