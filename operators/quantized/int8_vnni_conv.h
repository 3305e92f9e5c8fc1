// Convolutions of levels by a kernel of our own.
//
// oneDNN's kernels write results without gaps only, and are slower for the few channels of a first
// layer and for short sums. Here the sums of up to 16 pixels and 16
// filters stay in registers, and the results may be part of the channels of a larger tensor.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operators/conv/conv_op.h"

namespace caffe2::int8 {

// True if a side of the image is padded.
bool HasPads(const Window& w);

// Each level is onednn::ByteConvForward's. One thread at a time runs an object; the work inside is
// parallel. The results do not depend on
// the number of threads.
class VnniConv {
 public:
  // True on processors with AVX-512 and VNNI but without AMX, whose products oneDNN uses, for one
  // group, images at least 4 pixels wide and 4 channels or taps side by side, and results in bytes
  // to which nothing is added.
  static bool Supports(const ConvShape& shape, const onednn::ByteEpilogue& epilogue);

  // True if it was measured to be faster than oneDNN. For shapes that are supported.
  static bool IsFaster(const ConvShape& shape);

  // `filter` is M x kH x kW x C; pads have the level `pad`. Throws EnforceNotMet if the convolution
  // is not supported.
  VnniConv(const ConvShape& shape, const int8_t* filter, uint8_t pad,
           const onednn::ByteEpilogue& epilogue);

  // The pixels of `y` lie `y_step` bytes apart.
  void Run(const uint8_t* x, uint8_t* y, int64_t y_step) const;

 private:
  struct Band;
  Band BandAt(int64_t index) const;
  // The rows [first, last) of the kernel that add something to a row of Y: not those on pads of 0.
  std::pair<int64_t, int64_t> KernelRows(int64_t row) const;
  // The first row of X under a band, with pads: X itself, or a copy in this thread's scratch
  // memory.
  const uint8_t* PaddedRows(const Band& band, const uint8_t* x) const;
  void ComputeBlock(const Band& band, int64_t block, const uint8_t* rows, uint8_t* y,
                    int64_t y_step) const;
  void PackFilter(const int8_t* filter);

  const ConvShape shape_;
  const uint8_t pad_, min_;
  bool is_padded_ = false;
  int64_t line_ = 0;                          // bytes in a row of X, with pads
  int64_t bands_ = 0;                         // parts of an image, of several rows of Y
  int64_t blocks_ = 0;                        // of 16 filters
  std::vector<int32_t> taps_;                 // where in the window each group of four bytes lies
  std::vector<int8_t> filter_;                // for each block and group: four bytes of each filter
  std::vector<float> multipliers_, offsets_;  // whole blocks
};

}  // namespace caffe2::int8
