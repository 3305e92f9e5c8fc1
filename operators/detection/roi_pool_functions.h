// Maxima over the cells of regions of images, for the host and for devices (host_device.h).
#pragma once

#include "operators/detection/roi_align_functions.h"

namespace caffe2 {

// A region of whole pixels, both ends included. x runs along the width.
struct PooledRegion {
  int64_t image, x1, y1, x2, y2;

  // Reads the image and two corners. If they are wrong, the region is the first pixel of image 0,
  // and `value` is the wrong number.
  CAFFE2_HOST_DEVICE static RegionProblem Read(const float* roi, int64_t images, float scale,
                                               PooledRegion* region, double* value) {
    *region = {};
    *value = roi[0];
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(images))) return kRegionImage;
    int64_t corner[4];
    for (int k = 0; k < 4; ++k) {
      *value = roi[k + 1];
      if (!(std::fabs(roi[k + 1]) < 1e9f)) return kRegionCorner;
      corner[k] = static_cast<int64_t>(std::round(roi[k + 1] * scale));
    }
    *region = {static_cast<int64_t>(roi[0]), corner[0], corner[1], corner[2], corner[3]};
    return kRegionFine;
  }
};

// Cell i of n along an axis, of a region that covers [first, last] of `size` pixels.
struct CellSpan {
  int64_t begin, end;
  CAFFE2_HOST_DEVICE static CellSpan Of(int64_t i, int64_t n, int64_t first, int64_t last,
                                        int64_t size) {
    const int64_t length = last >= first ? last - first + 1 : 1;
    const double step = static_cast<double>(length) / static_cast<double>(n);
    const auto begin = static_cast<int64_t>(std::floor(static_cast<double>(i) * step)) + first;
    const auto end = static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * step)) + first;
    return {Within(begin, size), Within(end, size)};
  }
  CAFFE2_HOST_DEVICE static int64_t Within(int64_t at, int64_t size) {
    return at < 0 ? 0 : at < size ? at : size;
  }
  CAFFE2_HOST_DEVICE bool Has(int64_t at) const { return at >= begin && at < end; }
};

// N x C x height x width pixels, and rows x columns cells of each region.
struct PoolGrid {
  int64_t channels, height, width, rows, columns;
  CAFFE2_HOST_DEVICE CellSpan Rows(const PooledRegion& region, int64_t i) const {
    return CellSpan::Of(i, rows, region.y1, region.y2, height);
  }
  CAFFE2_HOST_DEVICE CellSpan Columns(const PooledRegion& region, int64_t j) const {
    return CellSpan::Of(j, columns, region.x1, region.x2, width);
  }
};

// Element `at` of Y and the pixel it came from, or -1.
struct RoIPoolCells {
  static constexpr const char* kName = "RoIPool";
  PoolGrid grid;
  const PooledRegion* regions;
  const float* x;
  float* y;
  int* argmax;  // may be null
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t j = at % grid.columns, i = at / grid.columns % grid.rows;
    const int64_t plane = at / (grid.columns * grid.rows), c = plane % grid.channels;
    const PooledRegion region = regions[plane / grid.channels];
    const float* pixels = x + (region.image * grid.channels + c) * grid.height * grid.width;
    const CellSpan rows = grid.Rows(region, i), columns = grid.Columns(region, j);
    int64_t best = -1;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column) {
        const int64_t pixel = row * grid.width + column;
        if (best < 0 || pixels[pixel] > pixels[best]) best = pixel;
      }
    }
    y[at] = best < 0 ? 0 : pixels[best];
    if (argmax != nullptr) argmax[at] = static_cast<int>(best);
  }
};

// Element `at` of dX: the sum of the gradients of the maxima that are at this pixel, in the order
// of the regions.
struct RoIPoolGradientPixels {
  static constexpr const char* kName = "RoIPoolGradient";
  PoolGrid grid;
  int64_t num_regions;
  const PooledRegion* regions;
  const int* argmax;
  const float* dy;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t area = grid.height * grid.width, pixel = at % area, plane = at / area;
    const int64_t row = pixel / grid.width, column = pixel % grid.width;
    const int64_t image = plane / grid.channels, c = plane % grid.channels;
    float sum = 0;
    for (int64_t r = 0; r < num_regions; ++r) {
      const PooledRegion& region = regions[r];
      if (region.image != image || row < region.y1 || column < region.x1) continue;
      const int64_t cells = (r * grid.channels + c) * grid.rows * grid.columns;
      for (int64_t i = 0; i < grid.rows; ++i) {
        if (!grid.Rows(region, i).Has(row)) continue;
        for (int64_t j = 0; j < grid.columns; ++j) {
          const int64_t cell = cells + i * grid.columns + j;
          if (argmax[cell] == pixel && grid.Columns(region, j).Has(column)) sum += dy[cell];
        }
      }
    }
    dx[at] = sum;
  }
};

}  // namespace caffe2
