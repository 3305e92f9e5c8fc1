// Sums over all rectangles that begin in the top left corner, for the host and for devices
// (host_device.h): first along the rows, then down the columns.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// Planes of height x width. Planes of the integral have one more row and column, which are 0.
struct PlaneSize {
  int64_t height = 0, width = 0;
  CAFFE2_HOST_DEVICE int64_t area() const { return height * width; }
  CAFFE2_HOST_DEVICE int64_t integral_area() const { return (height + 1) * (width + 1); }
};

// Row i of all planes' height + 1: y[i, j] = the sum of x[i - 1, w] over w < j.
struct IntegrateRows {
  static constexpr const char* kName = "IntegralImageRows";
  PlaneSize size;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t plane = i / (size.height + 1), row = i % (size.height + 1);
    float* to = y + i * (size.width + 1);
    const float* from = x + plane * size.area() + (row > 0 ? row - 1 : 0) * size.width;
    double sum = 0;
    to[0] = 0;
    for (int64_t j = 0; j < size.width; ++j) {
      if (row > 0) sum += from[j];
      to[j + 1] = static_cast<float>(sum);
    }
  }
};

// Row i of all planes' height: dx[i, j] = the sum of dy's row over columns w > j of row i + 1
// (exact), or w <= j of row i.
struct GatherRowSums {
  static constexpr const char* kName = "IntegralImageGradientRows";
  PlaneSize size;
  bool exact;
  const float* dy;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t plane = i / size.height, row = i % size.height;
    const float* from =
        dy + plane * size.integral_area() + (row + (exact ? 1 : 0)) * (size.width + 1);
    double sum = 0;
    for (int64_t k = 0; k < size.width; ++k) {
      const int64_t j = exact ? size.width - 1 - k : k;
      sum += from[j + (exact ? 1 : 0)];
      dx[i * size.width + j] = static_cast<float>(sum);
    }
  }
};

// Column i of planes with these rows and columns: adds to each element the sum of the elements
// above it or, if the pass begins at the last row, below it.
struct SumDownColumns {
  static constexpr const char* kName = "SumDownColumns";
  int64_t rows, columns;
  bool upward;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    float* column = y + i / columns * rows * columns + i % columns;
    double sum = 0;
    for (int64_t k = 0; k < rows; ++k) {
      float* at = column + (upward ? rows - 1 - k : k) * columns;
      sum += *at;
      *at = static_cast<float>(sum);
    }
  }
};

}  // namespace caffe2
