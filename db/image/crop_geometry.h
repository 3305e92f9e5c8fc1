// Where a crop lies in an image. These are plain structs, so that device kernels can read them.
#pragma once

#include <cstdint>

namespace caffe2::db {

// A part of an image, in pixels. Not set if height is 0.
struct BoundingBox {
  int ymin = 0, xmin = 0, height = 0, width = 0;
};

// A part of an image is scaled to height x width; a square of it, which begins at (y, x), is the
// crop. The square may reach beyond the scaled part, where pixels are black.
struct CropGeometry {
  BoundingBox part;
  int height = 0, width = 0;
  int y = 0, x = 0;
};

// A smaller part of a pixel counts as none where areas are averaged: it comes from rounding.
inline constexpr double kMinAreaOverlap = 1e-3;

// How a device makes the crop of one image from a JPEG file.
struct JpegCrop {
  // The file's bytes in InputBatch::files; none if the host writes the crop.
  int64_t begin = 0, bytes = 0;
  int32_t height = 0, width = 0;  // of the pixels in the file
  int32_t orientation = 1;        // EXIF, from 1 (upright) to 8
  CropGeometry geometry;          // in the upright image

  // Set before it is copied to the device: where the upright image lies in the memory of decoded
  // pixels. Pixel (y, x) begins at first + y * row_stride + x * column_stride.
  int64_t first = 0;
  int32_t row_stride = 0, column_stride = 0;
};

}  // namespace caffe2::db
