// Convolutions by oneDNN. Does not include oneDNN's headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2::onednn {

class BoundPrimitive;
class PatchDataGradient;
class PatchFilterGradient;
class PointwiseConv;
class RowConv;
class WinogradCorrelation;
class WinogradFilterGradient;

// How a convolution is computed. Winograd's algorithm (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016) needs fewer multiplications than a direct 3x3 convolution,
// but its rounding error is a few bits larger. In float, F(4x4, 3x3) needs a quarter of them.
// winograd_panels.h computes it where it supports the problem, except with AMX; else oneDNN 2 with
// AVX-512; else onednn_winograd.h. In bfloat16, onednn_winograd.h (NHWC only) computes F(2x2, 3x3),
// which needs 4 / 9 of them.
enum class ConvAlgorithm {
  kAuto,  // a fixed rule on the shapes, see PrefersWinograd
  kDirect,
  kWinograd,  // Winograd if it is implemented for the problem, else direct, with a warning
};

// One convolution: shapes, storage order, types, and the operations on the result.
struct ConvProblem {
  // Shapes in logical order, whatever the storage order; 1 to 3 spatial axes.
  std::vector<int64_t> src;                          // N, C, spatial
  std::vector<int64_t> filter;                       // M, C / groups, kernel
  std::vector<int64_t> dst;                          // N, M, spatial
  std::vector<int64_t> stride, dilation, pad_begin;  // one entry for each spatial axis
  int64_t groups = 1;
  // Storage order. False: NCHW, filters M, C / groups, kernel. True: NHWC, filters M, kernel, C /
  // groups.
  bool channels_last = false;
  TypeMeta type;         // of src and dst: float or bfloat16
  TypeMeta filter_type;  // float or bfloat16; converted to `type` in the run
  TypeMeta bias_type;    // empty: no bias
  // Forward only: dst = relu(convolution + bias + dst), where each part is optional. The gradient
  // of src may also be added to its destination, see AddsDataGradient.
  bool add_to_dst = false;
  bool relu = false;
  // Forward only: the filter's contents do not change while its address stays the same, so that its
  // reordered copy may be kept between runs.
  bool constant_filter = false;
  ConvAlgorithm algorithm = ConvAlgorithm::kAuto;

  bool operator==(const ConvProblem&) const = default;
  std::string ToString() const;
};

enum class ConvDirection { kForward, kBackwardData, kBackwardFilter };

// The rule of kAuto: true if Winograd was measured to be faster than the direct convolution, layout
// changes included. Depends only on the problem and the kind of processor, so that results do not
// vary from run to run.
bool PrefersWinograd(const ConvProblem& problem, ConvDirection direction);
// Another rule of kAuto: true if a gradient was measured to be faster as a product over patches
// (onednn_conv_matmul.h). False for the forward direction.
bool PrefersPatches(const ConvProblem& problem, ConvDirection direction);
// True if oneDNN may compute a gradient wrongly. Version 2.6 does so in bfloat16 and NHWC: for
// images, of some 1x1 filters whose numbers of filters or channels are no multiple of 16; for
// filters, if results are one pixel wide. Later versions have not been tried. Whatever the
// algorithm, these are computed as products over patches, or in float where PatchesSupport() is
// false.
bool OneDnnMistakes(const ConvProblem& problem, ConvDirection direction);
// Another rule: true if row_conv.h was measured to be faster.
bool PrefersRows(const ConvProblem& problem, ConvDirection direction);
// Another: true if pointwise_conv.h was measured to be faster.
bool PrefersPointwise(const ConvProblem& problem, ConvDirection direction);
// The rule for direct convolutions of NCHW: true if oneDNN was measured to be faster in a layout of
// its own, reorders included. There the last bits of the gradients of filters and biases depend on
// the number of threads.
bool PrefersOwnLayout(const ConvProblem& problem, ConvDirection direction);

// Make one object for a problem and run it many times, in one thread at a time. The constructor
// throws EnforceNotMet if oneDNN does not support the problem. Each run reorders filters, and other
// arrays for which oneDNN needs its own layout. If oneDNN does not multiply bfloat16 on this
// processor (onednn_float_copies.h), a bfloat16 problem is computed in float and the result is
// rounded once. All this holds for the gradients below too.
class ConvForward {
 public:
  explicit ConvForward(const ConvProblem& problem);
  ~ConvForward();
  // `bias` holds M elements; null if the problem has no bias.
  void Run(const void* src, const void* filter, const void* bias, void* dst);

 private:
  std::unique_ptr<WinogradCorrelation> winograd_;  // one of the five
  std::unique_ptr<PointwiseConv> pointwise_;
  std::unique_ptr<RowConv> rows_;
  std::unique_ptr<BoundPrimitive> primitive_;
  std::unique_ptr<ConvForward> in_float_;
  const ConvProblem problem_;
};

// How the sum of products of bytes for filter m becomes a result:
//   dst = multipliers[m] * sum + offsets[m] + accumulator_factor * dst,
// in float; only a problem with add_to_dst has the last term. A result in bytes is rounded to
// nearest even and clipped to [min, 255].
struct ByteEpilogue {
  std::vector<float> multipliers, offsets;  // one for each filter
  float accumulator_factor = 1;
  float min = 0;
  bool float_dst = false;  // dst is float, else uint8_t

  bool operator==(const ByteEpilogue&) const = default;
};

// True if ByteConvForward computes sum * multiplier + offset (oneDNN 3), not (sum + offset /
// multiplier) * multiplier, each operation rounded to float.
bool ScalesBeforeOffset();

// A convolution of uint8_t images with int8_t filters; sums are exact. The problem's types are not
// read, it has no bias, and its filter is constant. The constructor throws EnforceNotMet if oneDNN
// does not support the problem or AddsBytesExactly() is false.
class ByteConvForward {
 public:
  ByteConvForward(const ConvProblem& problem, const ByteEpilogue& epilogue);
  ~ByteConvForward();
  void Run(const uint8_t* src, const int8_t* filter, void* dst);

 private:
  std::unique_ptr<BoundPrimitive> primitive_;
  std::vector<float> multipliers_, bias_;  // as this version of oneDNN takes them
};

// True if ConvBackwardData can compute the problem with add_to_dst.
bool AddsDataGradient(const ConvProblem& problem);

// d src = transposed convolution of d dst; with add_to_dst d src += it.
class ConvBackwardData {
 public:
  explicit ConvBackwardData(const ConvProblem& problem);
  ~ConvBackwardData();
  void Run(const void* d_dst, const void* filter, void* d_src);

 private:
  std::unique_ptr<WinogradCorrelation> winograd_;  // one of the six
  std::unique_ptr<PointwiseConv> pointwise_;
  std::unique_ptr<PatchDataGradient> patches_;
  std::unique_ptr<RowConv> rows_;
  std::unique_ptr<BoundPrimitive> primitive_;
  std::unique_ptr<ConvBackwardData> in_float_;
  const ConvProblem problem_;
};

// Writes d filter, in the filter's type and layout, and d bias unless the problem has no bias.
class ConvBackwardFilter {
 public:
  explicit ConvBackwardFilter(const ConvProblem& problem);
  ~ConvBackwardFilter();
  void Run(const void* src, const void* d_dst, void* d_filter, void* d_bias);

 private:
  std::unique_ptr<WinogradFilterGradient> winograd_;  // one of the five
  std::unique_ptr<PatchFilterGradient> patches_;
  std::unique_ptr<RowConv> rows_;
  std::unique_ptr<BoundPrimitive> primitive_;
  std::unique_ptr<ConvBackwardFilter> in_float_;
  const ConvProblem problem_;
};

}  // namespace caffe2::onednn
