// Winograd's F(4x4, 3x3) for convolutions of float images in NHWC on processors with AVX-512, with
// products of panels (float_panels.h). Only onednn_conv.cc and onednn_winograd*.cc include this.
#pragma once

#include <memory>

#include "caffe2/utils/onednn_conv.h"

namespace caffe2::onednn {

// True if the classes below support a problem that WinogradSupports: float images in NHWC, float
// filters, numbers of channels and of filters that are multiples of 32, and
// FloatPanelsUseAvx512().
bool PanelWinogradSupports(const ConvProblem& problem);

// The convolution, or its input gradient (`rotated`), which is a convolution with the rotated
// filter. The bits of all results do not depend on the number of threads.
class PanelCorrelation {
 public:
  PanelCorrelation(const ConvProblem& problem, bool rotated);
  // Like WinogradCorrelation::Run.
  void Run(const void* in, const void* filter, const void* bias, void* out);

 private:
  struct Sizes;
  class Worker;

  // The transforms of a constant filter; null if it is transformed in each run.
  const float* KeptFilters(const Worker& worker, const void* filter);

  const ConvProblem problem_;
  const bool rotated_;
  const std::shared_ptr<const Sizes> sizes_;
  std::shared_ptr<void> kept_;
  const void* kept_source_ = nullptr;
};

// The filter gradient.
class PanelWinogradFilterGradient {
 public:
  explicit PanelWinogradFilterGradient(const ConvProblem& problem);
  // Like WinogradFilterGradient::Run.
  void Run(const void* src, const void* d_dst, void* d_filter, void* d_bias) const;

 private:
  struct Sizes;
  class Worker;
  struct Sums;

  const ConvProblem problem_;
  const std::shared_ptr<const Sizes> sizes_;
};

}  // namespace caffe2::onednn
