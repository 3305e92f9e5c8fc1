// Convolutions of levels (int8_op.h) by kernels for bytes, ours or oneDNN's: filters are packed
// once, and sums become levels before they leave the registers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "operators/conv/conv_op.h"
#include "operators/quantized/int8_op.h"
#include "operators/quantized/int8_vnni_conv.h"

namespace caffe2::int8 {

// The operands of a convolution of images N x H x W x C. The result has a quantization, or is
// float.
struct Int8ConvTerms {
  ConvShape shape;
  const uint8_t* filter = nullptr;  // M x kH x kW x C / group levels
  const int32_t* bias = nullptr;    // null if there is none
  uint8_t x_zero = 0, filter_zero = 0;
  std::vector<double> units;  // the value of a sum of 1, for each filter
  std::optional<Quantization> y;
  std::optional<Quantization> accumulator;  // of the old contents of Y, if they are added
  bool relu = false;
  bool has_gaps = false;  // between the pixels of Y
};

// Sums are exact, as long as they fit into 32 bits. Here they are scaled in float; an Int8Conv
// without constant_filter scales them in double. If a value lies within about 1e-5 steps of the
// middle between two levels, the two may choose different levels.
class PackedInt8Conv {
 public:
  // Null if there is no such kernel: for processors without VNNI, filters whose zero point is not
  // 128, and, with a warning, shapes that oneDNN cannot do fast. Copies what `terms` points to.
  static std::unique_ptr<PackedInt8Conv> Make(const Int8ConvTerms& terms);

  // `y` holds uint8_t or float. Pixels of levels without an accumulator may have gaps: they lie
  // `y_step` elements apart.
  void Run(const uint8_t* x, void* y, int64_t y_step);

 private:
  explicit PackedInt8Conv(const Int8ConvTerms& terms);
  // X with pads, whose levels stand for 0.
  const uint8_t* Padded(const uint8_t* x);
  // Copies the pixels in gapless_ to y.
  void Scatter(uint8_t* y, int64_t y_step) const;

  std::unique_ptr<VnniConv> vnni_;  // null if oneDNN computes the convolution

  ImageShape x_;
  ImageShape y_;
  std::vector<int64_t> pad_begin_;
  ImageShape padded_shape_;
  uint8_t x_zero_;
  std::vector<uint8_t> padded_;  // empty if the kernel pads
  std::vector<uint8_t> gapless_;
  std::vector<int8_t> filter_;
  std::unique_ptr<onednn::ByteConvForward> conv_;
};

}  // namespace caffe2::int8
