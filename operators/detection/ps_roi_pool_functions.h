// Averages over position-sensitive cells of regions, for the host and for devices (host_device.h).
#pragma once

#include "operators/detection/roi_pool_functions.h"

namespace caffe2 {

// A region in pixels of X, from whole pixels of the picture, both ends included. x runs along the
// width.
struct ScaledRegion {
  int64_t image;
  float x, y, width, height;

  // As PooledRegion::Read.
  CAFFE2_HOST_DEVICE static RegionProblem Read(const float* roi, int64_t images, float scale,
                                               ScaledRegion* region, double* value) {
    constexpr float kLeastSide = 0.1f;
    *region = {0, 0, 0, 1, 1};
    *value = roi[0];
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(images))) return kRegionImage;
    float corner[4];
    for (int k = 0; k < 4; ++k) {
      *value = roi[k + 1];
      if (!(std::fabs(roi[k + 1]) < 1e9f)) return kRegionCorner;
      corner[k] = (std::round(roi[k + 1]) + (k < 2 ? 0.f : 1.f)) * scale;
    }
    const float w = corner[2] - corner[0], h = corner[3] - corner[1];
    *region = {static_cast<int64_t>(roi[0]), corner[0], corner[1], w > kLeastSide ? w : kLeastSide,
               h > kLeastSide ? h : kLeastSide};
    return kRegionFine;
  }
};

// N x (outputs * groups * groups) x height x width pixels: output k of cell (i, j) is the average
// of channel (k * groups + i) * groups + j over that cell.
struct PositionGrid {
  int64_t outputs, groups, height, width;
  CAFFE2_HOST_DEVICE int64_t channels() const { return outputs * groups * groups; }
  CAFFE2_HOST_DEVICE int64_t area() const { return height * width; }
  // Pixels of cell i of an axis that starts at `first` and is `length` long.
  CAFFE2_HOST_DEVICE CellSpan Span(int64_t i, float first, float length, int64_t size) const {
    const float step = length / static_cast<float>(groups);
    return {CellSpan::Within(static_cast<int64_t>(std::floor(static_cast<float>(i) * step + first)),
                             size),
            CellSpan::Within(
                static_cast<int64_t>(std::ceil(static_cast<float>(i + 1) * step + first)), size)};
  }
  // The rows and columns of the cell of a channel.
  CAFFE2_HOST_DEVICE CellSpan Rows(const ScaledRegion& region, int64_t channel) const {
    return Span(channel / groups % groups, region.y, region.height, height);
  }
  CAFFE2_HOST_DEVICE CellSpan Columns(const ScaledRegion& region, int64_t channel) const {
    return Span(channel % groups, region.x, region.width, width);
  }
  CAFFE2_HOST_DEVICE static float Share(const CellSpan& rows, const CellSpan& columns) {
    return 1 / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
  }
};

// Element `at` of Y and the channel it comes from. Y has the elements of a region in the order of
// their channels.
struct PSRoIPoolCells {
  static constexpr const char* kName = "PSRoIPool";
  PositionGrid grid;
  const ScaledRegion* regions;
  const float* x;
  float* y;
  int* source;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t channel = at % grid.channels();
    const ScaledRegion region = regions[at / grid.channels()];
    const float* pixels = x + (region.image * grid.channels() + channel) * grid.area();
    const CellSpan rows = grid.Rows(region, channel), columns = grid.Columns(region, channel);
    float sum = 0;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column) {
        sum += pixels[row * grid.width + column];
      }
    }
    const bool empty = rows.end <= rows.begin || columns.end <= columns.begin;
    y[at] = empty ? 0.f : sum * PositionGrid::Share(rows, columns);
    source[at] = static_cast<int>(channel);
  }
};

// Adds to one channel of dX, in all images, the gradients of the regions in their order.
struct PSRoIPoolGradientPlanes {
  static constexpr const char* kName = "PSRoIPoolGradient";
  PositionGrid grid;
  int64_t num_regions;
  const ScaledRegion* regions;
  const float* dy;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t channel) const {
    for (int64_t r = 0; r < num_regions; ++r) {
      const ScaledRegion region = regions[r];
      float* pixels = dx + (region.image * grid.channels() + channel) * grid.area();
      const CellSpan rows = grid.Rows(region, channel), columns = grid.Columns(region, channel);
      const float gradient = dy[r * grid.channels() + channel] * PositionGrid::Share(rows, columns);
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        for (int64_t column = columns.begin; column < columns.end; ++column) {
          pixels[row * grid.width + column] += gradient;
        }
      }
    }
  }
};

}  // namespace caffe2
