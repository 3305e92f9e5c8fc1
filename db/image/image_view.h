// Decoded images in the input pipeline.
#pragma once

#include <cstdint>
#include <memory>

namespace caffe2::db {

// Pixels in any layout, which the view does not own: element (y, x, c) is data[y * row_stride +
// x * column_stride + c * channel_stride]. Three channels are blue, green and red.
template <typename Pixel>
struct ImageView {
  const Pixel* data = nullptr;
  int height = 0, width = 0, channels = 0;
  int64_t row_stride = 0, column_stride = 0, channel_stride = 0;

  // Contiguous pixels in row, column, channel order.
  static ImageView Interleaved(const Pixel* data, int height, int width, int channels) {
    return {data, height, width, channels, int64_t{width} * channels, channels, 1};
  }
  // Contiguous pixels in channel, row, column order.
  static ImageView Planar(const Pixel* data, int height, int width, int channels) {
    return {data, height, width, channels, width, 1, int64_t{height} * width};
  }
  const Pixel* At(int y, int x, int c = 0) const {
    return data + y * row_stride + x * column_stride + c * channel_stride;
  }
  // The part of `part_height` x `part_width` at (y, x). It must lie inside the image.
  ImageView Part(int y, int x, int part_height, int part_width) const {
    ImageView part = *this;
    part.data = At(y, x);
    part.height = part_height;
    part.width = part_width;
    return part;
  }
};

// A view and the memory that it points into.
template <typename Pixel>
struct Image {
  ImageView<Pixel> view;
  std::shared_ptr<void> memory;
};

}  // namespace caffe2::db
