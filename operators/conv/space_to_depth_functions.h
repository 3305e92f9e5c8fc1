// Rearranges images of few channels and their filters for convolutions on matrix units, for the
// host and for devices (host_device.h). Elements are words of 16 bits, whatever their type.
#pragma once

#include "operators/common/host_device.h"

namespace caffe2 {

// A convolution with equal strides of an image N x H x W x C equals one with stride 1, without
// padding, of an image of blocks: N x blocks[0] x blocks[1] x depth. A block holds stride x stride
// neighbouring pixels, zeros where the image was padded, and zeros up to `depth` channels. Pairs of
// numbers are for the vertical and the horizontal axis.
struct SpaceToDepth {
  int64_t channels, stride, depth;
  int64_t size[2], kernel[2];  // of the image and the filter, in pixels
  int64_t begin[2];            // padding before the first pixel, a multiple of the stride
  int64_t skip[2];             // rows of the first tap's blocks that the filter does not touch
  int64_t blocks[2], taps[2];  // of the image and the filter, in blocks

  // The element of a filter of blocks, M x taps[0] x taps[1] x depth, that holds an element of the
  // filter M x kernel[0] x kernel[1] x C.
  CAFFE2_HOST_DEVICE int64_t FilterAt(int64_t m, int64_t row, int64_t column, int64_t c) const {
    row += skip[0];
    column += skip[1];
    const int64_t pixel = row % stride * stride + column % stride;
    return ((m * taps[0] + row / stride) * taps[1] + column / stride) * depth + pixel * channels + c;
  }
};

// Block i of the image of blocks.
template <int kChannels, int kStride>
struct BlocksOfImage {
  static constexpr const char* kName = "SpaceToDepth";
  static constexpr int kDepth = (kChannels * kStride * kStride + 7) / 8 * 8;
  struct alignas(16) Words {
    uint16_t v[8];
  };
  SpaceToDepth by;
  const uint16_t* x;
  Words* y;

  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t column = i % by.blocks[1] * kStride - by.begin[1];
    const int64_t rest = i / by.blocks[1];
    const int64_t row = rest % by.blocks[0] * kStride - by.begin[0], n = rest / by.blocks[0];
    Words words[kDepth / 8];
    for (int d = 0; d < kDepth; ++d) {
      const int pixel = d / kChannels;
      const int64_t r = row + pixel / kStride, c = column + pixel % kStride;
      const bool inside = pixel < kStride * kStride && r >= 0 && r < by.size[0] && c >= 0 &&
                          c < by.size[1];
      words[d / 8].v[d % 8] =
          inside ? x[((n * by.size[0] + r) * by.size[1] + c) * kChannels + d % kChannels] : 0;
    }
    for (int w = 0; w < kDepth / 8; ++w) y[i * (kDepth / 8) + w] = words[w];
  }
};

// Element i of a filter, to its place in the filter of blocks, whose other elements are zeros.
struct BlocksOfFilter {
  static constexpr const char* kName = "SpaceToDepthFilter";
  SpaceToDepth by;
  const uint16_t* filter;
  uint16_t* blocks;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const { blocks[At(by, i)] = filter[i]; }

  CAFFE2_HOST_DEVICE static int64_t At(const SpaceToDepth& by, int64_t i) {
    const int64_t c = i % by.channels, tap = i / by.channels;
    const int64_t column = tap % by.kernel[1], row = tap / by.kernel[1] % by.kernel[0];
    return by.FilterAt(tap / by.kernel[1] / by.kernel[0], row, column, c);
  }
};

// Element i of a filter, from the filter of blocks.
struct FilterOfBlocks {
  static constexpr const char* kName = "DepthToSpaceFilter";
  SpaceToDepth by;
  const uint16_t* blocks;
  uint16_t* filter;
  CAFFE2_HOST_DEVICE void operator()(int64_t i) const {
    filter[i] = blocks[BlocksOfFilter::At(by, i)];
  }
};

}  // namespace caffe2
