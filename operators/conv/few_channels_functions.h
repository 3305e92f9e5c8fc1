// Rearranges images of few channels and their filters for convolutions on matrix units, for the
// host and for devices (host_device.h). Elements are words of 16 bits, whatever their type.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// A convolution of an N x H x W x C image equals a convolution of patches, N x size[0] x size[1] x
// depth, with stride 1 and no padding. A patch holds `rows` runs of kernel[1] neighbouring pixels,
// zeros where the image is padded, and zeros up to `depth` channels. The filter of patches has
// `taps` rows and one column. If one patch holds all rows of a window, there is one patch for each
// window; else patches follow each other `rows` pixels apart. Pairs of numbers are for the vertical
// and the horizontal axis.
struct Patches {
  int32_t channels, rows, depth, taps;
  int32_t image[2], kernel[2];  // height and width of the image and of the filter
  int32_t size[2];              // of the image of patches
  int32_t step[2], begin[2];    // patch (i, j) starts at pixel (i, j) * step - begin
  int32_t skip;                 // rows of a window's first patch that are above the window

  // The element of a filter of patches, M x taps x 1 x depth, that holds element i of the filter, M
  // x kernel[0] x kernel[1] x C.
  CAFFE2_HOST_DEVICE int64_t FilterAt(int64_t i) const {
    const int32_t run = kernel[1] * channels;
    const int64_t row = i / run % kernel[0] + skip;
    return (i / run / kernel[0] * taps + row / rows) * depth + row % rows * run + i % run;
  }
};

// Eight 16-bit elements, which a thread writes at once.
struct alignas(16) EightWords {
  uint16_t v[8];
};

// Eight channels of a patch.
struct PatchesOfImage {
  static constexpr const char* kName = "PatchesOfImage";
  Patches by;
  const uint16_t* x;
  EightWords* y;

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    // 32-bit divisions are several times faster on devices, and i is below 2^32 (kMaxBytes).
    const auto at = static_cast<uint32_t>(i);
    const uint32_t parts = by.depth / 8, patch = at / parts, line = patch / by.size[1];
    const int32_t run = by.kernel[1] * by.channels, width = by.image[1] * by.channels;
    const int32_t first = static_cast<int32_t>(at % parts) * 8;
    const int32_t column =
        (static_cast<int32_t>(patch % by.size[1]) * by.step[1] - by.begin[1]) * by.channels;
    int32_t row = first / run, within = first % run;
    const int32_t top = static_cast<int32_t>(line % by.size[0]) * by.step[0] - by.begin[0];
    const uint16_t* image = x + static_cast<int64_t>(line / by.size[0]) * by.image[0] * width;
    EightWords words;
    for (int k = 0; k < 8; ++k) {
      const int32_t r = top + row, c = column + within;
      const bool inside = row < by.rows && r >= 0 && r < by.image[0] && c >= 0 && c < width;
      words.v[k] = inside ? image[static_cast<int64_t>(r) * width + c] : 0;
      if (++within == run) within = 0, ++row;
    }
    y[i] = words;
  }
};

// Copies element i of a filter to the filter of patches, whose other elements must be 0 already.
struct FilterToPatches {
  static constexpr const char* kName = "FilterToPatches";
  Patches by;
  const uint16_t* filter;
  uint16_t* patches;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { patches[by.FilterAt(i)] = filter[i]; }
};

// Copies it back.
struct FilterOfPatches {
  static constexpr const char* kName = "FilterOfPatches";
  Patches by;
  const uint16_t* patches;
  uint16_t* filter;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { filter[i] = patches[by.FilterAt(i)]; }
};

}  // namespace caffe2
