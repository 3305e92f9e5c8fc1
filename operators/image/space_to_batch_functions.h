// Moves blocks of pixels to images of a larger batch, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Image b of the batch, of `height` x `width` pixels with pads at the edges, is divided into block
// * block images: the pixels at offset (i, j) of blocks become image (i * block + j) * batch + b.
struct SpaceBatchLayout {
  int64_t batch = 0, channels = 0, height = 0, width = 0;  // of the joined images
  int64_t block = 0, top = 0, left = 0;
  int64_t rows = 0, columns = 0;  // of an image of the larger batch
};

// Element `at` of the larger batch: a pixel of the joined images, or 0 in a pad.
template <typename T>
struct SpaceToBatchElements {
  static constexpr const char* kName = "SpaceToBatch";
  SpaceBatchLayout l;
  const T* x;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t j = at % l.columns, i = at / l.columns % l.rows;
    const int64_t plane = at / (l.columns * l.rows), image = plane / l.channels;
    const int64_t offset = image / l.batch;
    const int64_t row = i * l.block + offset / l.block - l.top;
    const int64_t column = j * l.block + offset % l.block - l.left;
    const int64_t from = (image % l.batch * l.channels + plane % l.channels) * l.height + row;
    const bool inside = row >= 0 && row < l.height && column >= 0 && column < l.width;
    y[at] = inside ? x[from * l.width + column] : T{};
  }
};
// Element `at` of the joined images.
template <typename T>
struct BatchToSpaceElements {
  static constexpr const char* kName = "BatchToSpace";
  SpaceBatchLayout l;
  const T* x;
  T* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t column = at % l.width + l.left, row = at / l.width % l.height + l.top;
    const int64_t plane = at / (l.width * l.height);
    const int64_t offset = row % l.block * l.block + column % l.block;
    const int64_t image = offset * l.batch + plane / l.channels;
    const int64_t from = (image * l.channels + plane % l.channels) * l.rows + row / l.block;
    y[at] = x[from * l.columns + column / l.block];
  }
};

}  // namespace caffe2
