// Convolutions by oneDNN, without its headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2::onednn {

class BoundPrimitive;
class WinogradCorrelation;
class WinogradFilterGradient;

// How a convolution is computed. Winograd's algorithm (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016) takes fewer multiplications than a direct 3x3 convolution,
// at the price of a few more bits of rounding error: a quarter in float, by oneDNN's F(4x4, 3x3);
// 4 / 9 in bfloat16, by the F(2x2, 3x3) of onednn_winograd.h (NHWC only).
enum class ConvAlgorithm {
  kAuto,      // by a fixed rule on the shapes, see PrefersWinograd
  kDirect,    //
  kWinograd,  // where there is one, else direct
};

// One convolution: shapes, layout, types and what is done to the result.
struct ConvProblem {
  // Logical order whatever the layout; 1 to 3 spatial axes.
  std::vector<int64_t> src;                          // N, C, spatial
  std::vector<int64_t> filter;                       // M, C / groups, kernel
  std::vector<int64_t> dst;                          // N, M, spatial
  std::vector<int64_t> stride, dilation, pad_begin;  // one entry a spatial axis
  int64_t groups = 1;
  // Storage: false is NCHW with filters M, C / groups, kernel; true NHWC with M, kernel, C /
  // groups.
  bool channels_last = false;
  TypeMeta type;         // of src and dst: float or bfloat16
  TypeMeta filter_type;  // float or bfloat16; converted to `type` on the way
  TypeMeta bias_type;    // nothing: no bias
  // Forward only: dst = relu(convolution + bias + dst), each part if asked for.
  bool add_to_dst = false;
  bool relu = false;
  // Forward only: the filter keeps its contents as long as it keeps its address, so its reordered
  // form may be kept from run to run.
  bool constant_filter = false;
  ConvAlgorithm algorithm = ConvAlgorithm::kAuto;

  bool operator==(const ConvProblem&) const = default;
  std::string ToString() const;
};

enum class ConvDirection { kForward, kBackwardData, kBackwardFilter };

// What kAuto does: true where Winograd was measured to be faster than the direct convolution,
// layout changes included. It depends on the problem, the kind of processor and the number of
// threads alone, so that results do not vary from run to run.
bool PrefersWinograd(const ConvProblem& problem, ConvDirection direction);

// Each is made once for a problem (throws EnforceNotMet if oneDNN cannot do it) and then run by one
// thread at a time. Filters, and whatever else oneDNN wants in its own layout, are reordered in
// every run. Where oneDNN does not multiply bfloat16 (onednn_float_copies.h), such a problem is
// solved in float, and the result rounded once.
class ConvForward {
 public:
  explicit ConvForward(const ConvProblem& problem);
  ~ConvForward();
  // bias: M elements, null if the problem has none.
  void Run(const void* src, const void* filter, const void* bias, void* dst);

 private:
  std::unique_ptr<WinogradCorrelation> winograd_;  // one of the three
  std::unique_ptr<BoundPrimitive> primitive_;
  std::unique_ptr<ConvForward> in_float_;
  const ConvProblem problem_;
};

// d src = transposed convolution of d dst.
class ConvBackwardData {
 public:
  explicit ConvBackwardData(const ConvProblem& problem);
  ~ConvBackwardData();
  void Run(const void* d_dst, const void* filter, void* d_src);

 private:
  std::unique_ptr<WinogradCorrelation> winograd_;  // one of the three
  std::unique_ptr<BoundPrimitive> primitive_;
  std::unique_ptr<ConvBackwardData> in_float_;
  const ConvProblem problem_;
};

// d filter in the filter's type and layout, and d bias unless the problem has no bias.
class ConvBackwardFilter {
 public:
  explicit ConvBackwardFilter(const ConvProblem& problem);
  ~ConvBackwardFilter();
  void Run(const void* src, const void* d_dst, void* d_filter, void* d_bias);

 private:
  std::unique_ptr<WinogradFilterGradient> winograd_;  // one of the three
  std::unique_ptr<BoundPrimitive> primitive_;
  std::unique_ptr<ConvBackwardFilter> in_float_;
  const ConvProblem problem_;
};

}  // namespace caffe2::onednn
