// Winograd's F(2x2, 3x3) for bfloat16 images, with oneDNN's matrix products.
//
// It computes a 3x3 convolution in tiles of 2x2 results (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016), with 16 products for each tile instead of 36. Tiles and
// filters are transformed in float and rounded once to bfloat16. The products are summed and
// transformed back in float, and the result is rounded once. (oneDNN's own Winograd works in float
// only.)
//
// One thread at a time runs an object; the work inside is parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/utils/onednn_conv.h"

namespace caffe2::onednn {

// True if the classes below support the problem: two spatial axes, kernel 3, stride and dilation 1,
// one group, padding of at most 2, NHWC, bfloat16, on a processor on which oneDNN multiplies
// bfloat16.
bool WinogradSupports(const ConvProblem& problem);

// The convolution, or its input gradient, which is a convolution with the rotated filter.
class WinogradCorrelation {
 public:
  enum Direction { kForward, kBackwardData };
  // Throws EnforceNotMet if the problem is not supported.
  WinogradCorrelation(const ConvProblem& problem, Direction direction);
  ~WinogradCorrelation();
  // Like ConvForward::Run, or ConvBackwardData::Run, which has no bias.
  void Run(const void* in, const void* filter, const void* bias, void* out);

 private:
  class Plan;
  class Worker;
  void TransformFilter(const void* filter, bfloat16* planes) const;

  const ConvProblem problem_;
  const bool rotated_;
  std::unique_ptr<const Plan> plan_;
  std::shared_ptr<void> kept_filter_;         // a constant filter's transform
  const void* kept_filter_source_ = nullptr;  // its source
};

// The filter gradient: products of the transformed input and the transformed gradient, summed over
// all tiles.
class WinogradFilterGradient {
 public:
  // Throws EnforceNotMet if the problem is not supported.
  explicit WinogradFilterGradient(const ConvProblem& problem);
  ~WinogradFilterGradient();
  // Like ConvBackwardFilter::Run.
  void Run(const void* src, const void* d_dst, void* d_filter, void* d_bias);

 private:
  class Plan;
  class Worker;

  const ConvProblem problem_;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace caffe2::onednn
