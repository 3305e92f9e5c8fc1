// Winograd's algorithm for bfloat16 images, with products of pairs (winograd_pairs.h), and for
// float images, with products of panels on processors with AVX-512 (winograd_panels.h), otherwise
// with oneDNN's matrix products, where oneDNN has no Winograd of its own (version 3, and processors
// without AVX-512).
//
// A 3x3 convolution is computed in tiles (Lavin and Gray, "Fast algorithms for convolutional neural
// networks", 2016; caffe2/utils/winograd_transforms.h). In bfloat16, tiles of 2x2 results need 16
// products instead of 36. Tiles and filters are transformed in float and rounded once to bfloat16;
// products are summed and transformed back in float, and the result is rounded once. In float,
// tiles of 4x4 results need 36 products instead of 144.
//
// One thread at a time runs an object; the work inside is parallel.
#pragma once

#include <memory>

#include "caffe2/utils/onednn_conv.h"

namespace caffe2::onednn {

class PairCorrelation;
class PairFilterGradient;
class PanelCorrelation;
class PanelWinogradFilterGradient;

// True if the classes below support the problem: two spatial axes, kernel 3, stride and dilation 1,
// one group, padding of at most 2; float, or bfloat16 in NHWC on a processor on which oneDNN
// multiplies bfloat16. NCHW images are copied to NHWC and back.
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
  class Work;

  std::unique_ptr<Work> in_float_;  // one of the three
  std::unique_ptr<PanelCorrelation> panels_;
  std::unique_ptr<PairCorrelation> pairs_;
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
  class Work;

  std::unique_ptr<Work> in_float_;  // one of the three
  std::unique_ptr<PanelWinogradFilterGradient> panels_;
  std::unique_ptr<PairFilterGradient> pairs_;
};

}  // namespace caffe2::onednn
