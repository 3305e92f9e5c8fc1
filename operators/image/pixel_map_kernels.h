// Makes images from the pixels of another image (pixel_map.h) on CUDA devices. Pointers are device
// memory. T is float, float16 or bfloat16.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// PixelPlanes, and the size of the result.
struct PixelLayout {
  int64_t planes = 0, height = 0, width = 0, values = 0;
  int64_t made_height = 0, made_width = 0;
};

// The source of each row and column of the result; negative: outside.
struct DevicePixelMap {
  const int64_t *rows = nullptr, *columns = nullptr;
};
template <typename T>
void LaunchGatherPixels(const PixelLayout& layout, const DevicePixelMap& map, float outside,
                        const T* x, T* y, cuda::Stream stream);

// The inverse: elements [row_starts[r], row_starts[r + 1]) of row_uses are the rows of the result
// that come from row r, in order; likewise for columns.
struct DevicePixelUses {
  const int64_t *row_starts = nullptr, *row_uses = nullptr;
  const int64_t *column_starts = nullptr, *column_uses = nullptr;
};
// Every pixel of dx is the sum, in float, of the pixels of dy that were copied from it.
template <typename T>
void LaunchSumPixels(const PixelLayout& layout, const DevicePixelUses& uses, const T* dy, T* dx,
                     cuda::Stream stream);

}  // namespace caffe2
