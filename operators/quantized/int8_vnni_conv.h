// Convolutions of levels by a kernel of our own.
//
// oneDNN's kernels write results without gaps only, and are slower for the few channels of a first
// layer and for products of matrices. Here 24 vectors of sums stay in registers, of up to 64
// filters, filters are fetched before they are needed, and the results may be part of the channels
// of a larger tensor.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operators/conv/conv_op.h"

namespace caffe2::int8 {

// True if a side of the image is padded.
bool HasPads(const Window& w);

// Each level is onednn::ByteConvForward's. One thread at a time runs an object; the work inside is
// parallel. The results do not depend on the number of threads.
class VnniConv {
 public:
  // True on processors with AVX-512 and VNNI but without AMX, whose products oneDNN uses, for one
  // group, images at least 4 pixels wide and 4 channels or taps side by side, and results in bytes.
  // `adds`: the old contents of Y are added.
  static bool Supports(const ConvShape& shape, const onednn::ByteEpilogue& epilogue, bool adds);

  // True if it was measured to be faster than oneDNN. For shapes that are supported.
  static bool IsFaster(const ConvShape& shape);

  // `filter` is M x kH x kW x C; pads have the level `pad`. Throws EnforceNotMet if the convolution
  // is not supported.
  VnniConv(const ConvShape& shape, const int8_t* filter, uint8_t pad,
           const onednn::ByteEpilogue& epilogue, bool adds);

  // The pixels of `y` lie `y_step` bytes apart.
  void Run(const uint8_t* x, uint8_t* y, int64_t y_step) const;

 private:
  struct Part;
  // The part that begins at item `index`, an item being a line of a panel, at most up to `end`.
  Part PartAt(int64_t index, int64_t end) const;
  int64_t FirstBlock(int64_t panel) const;
  // The rows [first, last) of the kernel that add something to a row of Y: not those on pads of 0.
  std::pair<int64_t, int64_t> KernelRows(int64_t row) const;
  // The first row of X under the band of a part, with pads: X itself, or a copy in this thread's
  // scratch memory.
  const uint8_t* PaddedRows(const Part& part, const uint8_t* x) const;
  void ComputePart(const Part& part, const uint8_t* rows, uint8_t* y, int64_t y_step) const;
  void PackFilter(const int8_t* filter);

  const ConvShape shape_;
  const uint8_t pad_, min_;
  const bool adds_;
  const bool is_pointwise_;  // all images are one row of pixels, whose lines are tiles
  const bool is_padded_;
  const float accumulator_factor_;
  int64_t line_bytes_ = 0;                    // in a row of X, with pads
  int64_t images_ = 0, lines_ = 0;            // of Y; lines in an image
  int64_t band_lines_ = 0;                    // that are computed for all panels one after another
  int64_t blocks_ = 0, panels_ = 0;           // of 16 filters; of up to 4 blocks
  std::vector<int32_t> taps_;                 // where in the window each group of four bytes lies
  std::vector<int8_t> filter_;                // for each panel and group: four bytes of each filter
  std::vector<float> multipliers_, offsets_;  // whole blocks
};

}  // namespace caffe2::int8
