// Bilinear samples of regions of images, for the host and for devices (host_device.h).
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// The layout of a batch of images: channel c of pixel i of image n is at
// (n * channels * area) + c * channel_stride + i * pixel_stride.
struct ImageLayout {
  int64_t batch = 0, channels = 0, height = 0, width = 0;
  int64_t channel_stride = 0, pixel_stride = 0;

  CAFFE2_HOST_DEVICE int64_t area() const { return height * width; }
  CAFFE2_HOST_DEVICE int64_t image_size() const { return channels * area(); }
  // Image, channel and pixel of the element at a position.
  CAFFE2_HOST_DEVICE int64_t Image(int64_t at) const { return at / image_size(); }
  CAFFE2_HOST_DEVICE int64_t Channel(int64_t at) const { return at / channel_stride % channels; }
  CAFFE2_HOST_DEVICE int64_t Pixel(int64_t at) const { return at / pixel_stride % area(); }
};

// The coordinates of a region. u runs along its width and v along its height, from the values of
// the members u and v on. (u, v) is the pixel position (x + u cosine + v sine, y + v cosine - u
// sine).
struct RegionFrame {
  int64_t image = 0;
  float u = 0, v = 0, width = 0, height = 0;
  float x = 0, y = 0, cosine = 1, sine = 0;
};

// One bilinear sample: four pixels and their weights.
struct RegionSample {
  int64_t pixel[4];
  float weight[4];
};

// A position between the pixels `low` and `high` of an axis of `size` pixels; `share` is the weight
// of `high`.
struct SplitPlace {
  int64_t low, high;
  float share;
};
CAFFE2_HOST_DEVICE inline SplitPlace SplitAt(float at, int64_t size) {
  if (at < 0) at = 0;
  const auto whole = static_cast<int64_t>(at);
  const int64_t low = whole < size - 1 ? whole : size - 1;
  const bool last = low == size - 1;
  return {low, last ? low : low + 1, last ? 0.f : at - static_cast<float>(low)};
}
// Positions up to one pixel outside the image count as on its edge; positions farther out have no
// value.
CAFFE2_HOST_DEVICE inline bool IsOutside(float at, int64_t size) {
  return at < -1 || at > static_cast<float>(size);
}
CAFFE2_HOST_DEVICE inline RegionSample SampleAt(const ImageLayout& x, float row, float column,
                                                float weight) {
  RegionSample sample{};
  if (IsOutside(row, x.height) || IsOutside(column, x.width) || x.area() == 0) return sample;
  const SplitPlace down = SplitAt(row, x.height), along = SplitAt(column, x.width);
  const int64_t pixels[] = {down.low * x.width + along.low, down.low * x.width + along.high,
                            down.high * x.width + along.low, down.high * x.width + along.high};
  const float weights[] = {(1 - down.share) * (1 - along.share), (1 - down.share) * along.share,
                           down.share * (1 - along.share), down.share * along.share};
  for (int k = 0; k < 4; ++k) {
    sample.pixel[k] = pixels[k] * x.pixel_stride;
    sample.weight[k] = weight * weights[k];
  }
  return sample;
}

// The samples of a region: grid_h x grid_w in each of rows x columns cells.
struct RegionGrid {
  RegionFrame frame;
  int64_t rows = 0, columns = 0, grid_h = 0, grid_w = 0;

  CAFFE2_HOST_DEVICE float cell_h() const { return frame.height / static_cast<float>(rows); }
  CAFFE2_HOST_DEVICE float cell_w() const { return frame.width / static_cast<float>(columns); }
  CAFFE2_HOST_DEVICE int64_t per_cell() const { return grid_h * grid_w; }
  // The weight of a sample in its cell.
  CAFFE2_HOST_DEVICE float share() const {
    return 1.f / static_cast<float>(per_cell() > 1 ? per_cell() : 1);
  }
  CAFFE2_HOST_DEVICE static float Place(float begin, int64_t cell, float size, int64_t i,
                                        int64_t n) {
    return begin + static_cast<float>(cell) * size +
           (static_cast<float>(i) + 0.5f) * size / static_cast<float>(n);
  }
  // Sample (i, j) of a cell.
  CAFFE2_HOST_DEVICE RegionSample At(const ImageLayout& x, int64_t cell, int64_t i,
                                     int64_t j) const {
    const float v = Place(frame.v, cell / columns, cell_h(), i, grid_h);
    const float u = Place(frame.u, cell % columns, cell_w(), j, grid_w);
    return SampleAt(x, frame.y + v * frame.cosine - u * frame.sine,
                    frame.x + u * frame.cosine + v * frame.sine, share());
  }
};

// Errors in a region.
enum RegionProblem : int {
  kRegionFine,
  kRegionImage,    // the image does not exist
  kRegionCorner,   // too far away, or NaN
  kRegionSide,     // negative
  kRegionAngle,    // not a number
  kRegionSamples,  // too many
};

// Reads a region from its numbers: [image,] two corners, or centre, sides and degrees.
struct RegionParser {
  bool rotated = false, aligned = false, names_image = false;
  int64_t images = 0, rows = 0, columns = 0, ratio = 0;
  float scale = 1;

  CAFFE2_HOST_DEVICE int64_t numbers() const { return (rotated ? 5 : 4) + (names_image ? 1 : 0); }

  // If the numbers are wrong, the region has no samples and is in image 0, and `value` is the wrong
  // number.
  CAFFE2_HOST_DEVICE RegionProblem Read(const float* roi, RegionGrid* region, double* value) const {
    constexpr double kMaxSamples = 1 << 26, kRadians = 0.017453292519943295;
    constexpr float kFarthest = 1e7f;  // corner, in pixels of the scaled image
    *region = {{}, rows, columns, 0, 0};
    RegionGrid read = *region;
    RegionFrame& frame = read.frame;
    if (names_image) {
      *value = *roi;
      if (!(*roi >= 0 && *roi < static_cast<float>(images))) return kRegionImage;
      frame.image = static_cast<int64_t>(*roi++);
    }
    float number[4];
    for (int k = 0; k < 4; ++k) {
      *value = roi[k];
      number[k] = roi[k] * scale - (aligned && !(rotated && k >= 2) ? 0.5f : 0.f);
      if (!(std::fabs(number[k]) < kFarthest)) return kRegionCorner;
    }
    frame.width = rotated ? number[2] : number[2] - number[0];
    frame.height = rotated ? number[3] : number[3] - number[1];
    if (aligned) {
      *value = frame.width < frame.height ? frame.width : frame.height;
      if (*value < 0) return kRegionSide;
    } else {  // as in early Caffe2: at least one pixel
      if (!(frame.width > 1)) frame.width = 1;
      if (!(frame.height > 1)) frame.height = 1;
    }
    frame.u = rotated ? -frame.width / 2 : number[0];
    frame.v = rotated ? -frame.height / 2 : number[1];
    if (rotated) {
      *value = roi[4];
      const double angle = roi[4] * kRadians;
      if (!(std::fabs(angle) < 1e30)) return kRegionAngle;
      frame.x = number[0];
      frame.y = number[1];
      frame.cosine = static_cast<float>(std::cos(angle));
      frame.sine = static_cast<float>(std::sin(angle));
    }
    read.grid_h = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(read.cell_h()));
    read.grid_w = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(read.cell_w()));
    *value = static_cast<double>(rows * columns) * static_cast<double>(read.grid_h) *
             static_cast<double>(read.grid_w);
    if (*value > kMaxSamples) return kRegionSamples;
    *region = read;
    return kRegionFine;
  }
};

// Element `at` of Y, laid out by `out`: the weighted sum of the samples of its cell.
struct RoIAlignCells {
  static constexpr const char* kName = "RoIAlign";
  ImageLayout in, out;
  const RegionGrid* regions;
  const float* x;
  float* y;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const RegionGrid region = regions[out.Image(at)];
    const int64_t cell = out.Pixel(at);
    const float* image =
        x + region.frame.image * in.image_size() + out.Channel(at) * in.channel_stride;
    float sum = 0;
    const int64_t rows = in.area() == 0 ? 0 : region.grid_h;  // an empty image has no pixel to read
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < region.grid_w; ++j) {
        const RegionSample sample = region.At(in, cell, i, j);
        for (int k = 0; k < 4; ++k) sum += sample.weight[k] * image[sample.pixel[k]];
      }
    }
    y[at] = sum;
  }
};

// One axis of an upright region. The weight of a sample of such a region is the product of a weight
// for each axis.
struct CellAxis {
  float begin, size;  // where the first cell begins, the size of a cell
  int64_t cells, grid, extent;

  // The weight of pixel `at` in the samples of a cell.
  CAFFE2_HOST_DEVICE float Weight(int64_t cell, int64_t at) const {
    float sum = 0;
    for (int64_t i = 0; i < grid; ++i) {
      const float place = RegionGrid::Place(begin, cell, size, i, grid);
      if (IsOutside(place, extent)) continue;
      const SplitPlace split = SplitAt(place, extent);
      sum += (split.low == at ? 1 - split.share : 0.f) + (split.high == at ? split.share : 0.f);
    }
    return sum;
  }
  // The cells [First, Last) that may have samples next to the pixel; a few of them have none.
  CAFFE2_HOST_DEVICE int64_t First(int64_t at) const {
    if (!(size > 0)) return 0;
    const float cell = (static_cast<float>(at - 1) - begin) / size - 1;
    return cell < 0 ? 0 : cell < static_cast<float>(cells) ? static_cast<int64_t>(cell) : cells;
  }
  CAFFE2_HOST_DEVICE int64_t Last(int64_t at) const {
    if (!(size > 0)) return cells;
    const float cell = (static_cast<float>(at + 1) - begin) / size + 2;
    return cell < 0 ? 0 : cell < static_cast<float>(cells) ? static_cast<int64_t>(cell) : cells;
  }
};

// Element `at` of dX: the sum over the upright regions that sampled it, in their order.
struct RoIAlignGradientPixels {
  static constexpr const char* kName = "RoIAlignGradient";
  ImageLayout in, out;
  int64_t num_regions;
  const RegionGrid* regions;
  const float* dy;
  float* dx;
  CAFFE2_HOST_DEVICE void operator()(int64_t at) const {
    const int64_t pixel = in.Pixel(at), row = pixel / in.width, column = pixel % in.width;
    const int64_t image = in.Image(at), channel = in.Channel(at);
    float sum = 0;
    for (int64_t r = 0; r < num_regions; ++r) {
      const RegionGrid& region = regions[r];
      if (region.frame.image != image) continue;
      const CellAxis down{region.frame.v, region.cell_h(), region.rows, region.grid_h, in.height};
      const CellAxis along{region.frame.u, region.cell_w(), region.columns, region.grid_w,
                           in.width};
      const float* from = dy + r * out.image_size() + channel * out.channel_stride;
      for (int64_t i = down.First(row); i < down.Last(row); ++i) {
        const float weight = down.Weight(i, row) * region.share();
        if (weight == 0) continue;
        for (int64_t j = along.First(column); j < along.Last(column); ++j) {
          const float share = along.Weight(j, column);
          if (share != 0) sum += weight * share * from[(i * region.columns + j) * out.pixel_stride];
        }
      }
    }
    dx[at] = sum;
  }
};

}  // namespace caffe2
