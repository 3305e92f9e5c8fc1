// The gradient of MaxPool on the CPU, pixel by pixel, where many channels lie side by side (NHWC).
#pragma once

#include "operators/pool/pool_kernels.h"

namespace caffe2 {

constexpr int64_t kMinPixelChannels = 16;

// True for images in NHWC of at least so many channels. MaxPoolPixelGradient takes no others.
inline bool HasWidePixels(const PoolShape& shape) {
  return shape.channels_last && shape.channels >= kMinPixelChannels;
}

// As PoolGradient of the maximum. T is float or bfloat16.
template <typename T>
void MaxPoolPixelGradient(const PoolShape& shape, const T* x, const T* y, const T* dy, T* dx);

}  // namespace caffe2
