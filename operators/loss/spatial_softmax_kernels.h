// SpatialSoftmaxWithLoss on CUDA devices. Pointers are device memory; T is float, float16 or
// bfloat16. A label out of range is reported, and its pixel counts as NaN.
#pragma once

#include "caffe2/cuda/runtime.h"
#include "operators/common/pixel_labels.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// p = the softmax of x. Also writes the weight of each pixel and its weighted cross entropy.
template <typename T>
void LaunchSpatialSoftmax(const PixelLabels& pixels, const T* x, T* p, float* losses,
                          float* weights, cuda::KernelReport* report, cuda::Stream stream);
void LaunchPixelWeights(const PixelLabels& pixels, float* weights, cuda::Stream stream);
// dx = (p - labels) * weight * scale / *total_weight * d_loss
template <typename T>
void LaunchSpatialSoftmaxGradient(const PixelLabels& pixels, const T* p, const float* total_weight,
                                  const Rate& d_loss, float scale, T* dx,
                                  cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
