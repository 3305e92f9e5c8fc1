// The gradient of MaxPool on the CPU, pixel by pixel, for long rows of pixels in NHWC.
#pragma once

#include "operators/pool/pool_kernels.h"

namespace caffe2 {

constexpr int64_t kMinPixelChannels = 16;

// Whether MaxPoolPixelGradient suits images: in NHWC, with at least 16 channels, and with rows so
// long that a row of sums in float takes half of the first-level cache. For shorter rows, tap after
// tap is faster, up to three times for 16 channels (AMD EPYC, Zen 5).
inline bool HasLongPixelRows(const PoolShape& shape) {
  constexpr int64_t kMinRow = 6144;
  return shape.channels_last && shape.channels >= kMinPixelChannels &&
         shape.input[2] * shape.channels >= kMinRow;
}

// As PoolGradient of the maximum. T is float or bfloat16.
template <typename T>
void MaxPoolPixelGradient(const PoolShape& shape, const T* x, const T* y, const T* dy, T* dx);

}  // namespace caffe2
