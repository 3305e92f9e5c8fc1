// The gradient of RoIAlignRotated, for the host and for devices (host_device.h). The samples of
// rotated regions may be anywhere, so they are sorted by the pixels that they read.
#pragma once

#include "operators/common/sorted_rows.h"
#include "operators/detection/roi_align_functions.h"

namespace caffe2 {

// Every corner of every sample, in the order of regions: the pixel that it reads, and its weight.
struct SampleCorners {
  float* weights;
  int64_t* sources;  // the index of the cell's gradient for channel 0
};

// Writes the key of corner i of `n`: the pixel of all images << 32 | i.
struct SampleKeys {
  static constexpr const char* kName = "RoIAlignSamples";
  ImageLayout in, out;
  int64_t num_regions;
  const RegionGrid* regions;
  const int64_t* starts;  // the first corner of each region, and n
  SampleCorners corners;
  uint64_t* keys;

  CAFFE2_HOST_DEVICE int64_t RegionOf(int64_t i) const {
    int64_t low = 0, high = num_regions;  // starts[low] <= i < starts[high]
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (starts[middle] <= i ? low : high) = middle;
    }
    return low;
  }
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    uint64_t pixel = SortedRows::kNoRow;
    if (i < starts[num_regions]) {
      const int64_t r = RegionOf(i), sample = (i - starts[r]) / 4, corner = (i - starts[r]) % 4;
      const RegionGrid& region = regions[r];
      const int64_t cell = sample / region.per_cell(), k = sample % region.per_cell();
      const RegionSample read = region.At(in, cell, k / region.grid_w, k % region.grid_w);
      corners.weights[i] = read.weight[corner];
      corners.sources[i] = r * out.image_size() + cell * out.pixel_stride;
      if (read.weight[corner] != 0) {
        pixel = region.frame.image * in.area() + read.pixel[corner] / in.pixel_stride;
      }
    }
    keys[i] = pixel << 32 | static_cast<uint64_t>(i);
  }
};

// All channels of the pixel that corner i reads, if i is its first corner. dx must be 0 already.
struct SumSamples {
  static constexpr const char* kName = "RoIAlignRotatedGradient";
  ImageLayout in, out;
  SortedRows sorted;
  SampleCorners corners;
  const float* dy;
  float* dx;
  template <class Team>
  CAFFE2_HOST_DEVICE void operator()(int64_t i, Team team) const {
    if (!sorted.First(i)) return;
    const auto row = static_cast<int64_t>(sorted.Row(i));
    float* to = dx + row / in.area() * in.image_size() + row % in.area() * in.pixel_stride;
    for (int64_t c = team.first(); c < in.channels; c += team.step()) {
      float sum = 0;
      for (int64_t k = i; k < sorted.n && sorted.Row(k) == sorted.Row(i); ++k) {
        const int64_t at = sorted.Position(k);
        sum += corners.weights[at] * dy[corners.sources[at] + c * out.channel_stride];
      }
      to[c * in.channel_stride] = sum;
    }
  }
};

}  // namespace caffe2
