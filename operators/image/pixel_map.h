// Makes images from the pixels of another image, for padding and resizing.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/operator.h"
#include "operators/conv/conv_pool_shape.h"

namespace caffe2 {

// The source row of each row of the result and the source column of each column; -1: outside.
struct PixelMap {
  std::vector<int64_t> rows, columns;

  bool operator==(const PixelMap&) const = default;
};

// A batch of planes of pixels: N * C planes of single values (NCHW) or N planes of pixels of C
// values (NHWC).
struct PixelPlanes {
  int64_t planes = 0;
  int64_t height = 0, width = 0;  // of the source
  int64_t values = 0;             // of a pixel

  // Throws unless the image has two spatial axes.
  static PixelPlanes Make(const std::vector<int64_t>& dims, StorageOrder order);
};

// Moves pixels for an operator, on the device of a context. An object may keep data about a map for
// the next run.
template <class Context>
class PixelMover;

// y[row, column] = x[map.rows[row], map.columns[column]], or `outside`. T: float or bfloat16.
template <typename T>
void GatherPixels(const PixelPlanes& source, const PixelMap& map, float outside, const T* x, T* y);
// The gradient: every pixel of dx is the sum of the pixels of dy that were copied from it.
template <typename T>
void ScatterPixels(const PixelPlanes& source, const PixelMap& map, const T* dy, T* dx);

template <>
class PixelMover<CPUContext> {
 public:
  template <typename T>
  void Gather(const PixelPlanes& source, const PixelMap& map, float outside, const T* x, T* y,
              CPUContext* /*context*/) {
    GatherPixels(source, map, outside, x, y);
  }
  template <typename T>
  void Scatter(const PixelPlanes& source, const PixelMap& map, const T* dy, T* dx,
               CPUContext* /*context*/) {
    ScatterPixels(source, map, dy, dx);
  }
};

}  // namespace caffe2
