// Convolutions of images of few channels, such as the first layer of a network for photographs.
#pragma once

#include <optional>

#include "caffe2/cuda/convolution.h"
#include "operators/conv/few_channels_functions.h"

namespace caffe2 {

// cuDNN multiplies 64 channels of 16 bits at a time, and each tap of a filter starts anew: of 3
// channels it wastes most. On an H100 the first layer of ResNet-50 (3 channels, 7x7, stride 2) ran
// at 2 % of the speed of other layers. The convolution of patches (Patches) computes the same sums,
// with zeros among them, with up to kMostDepth channels and fewer taps.
class FewChannelsConv {
 public:
  static constexpr int64_t kMostChannels = 4, kMostDepth = 64;

  // Empty for problems that are not two-dimensional, NHWC, in 16 bits, with few channels, one group
  // and no dilation, or whose patches would be deeper.
  static std::optional<FewChannelsConv> Make(const cuda::ConvProblem& problem);

  // The convolution of patches. Its y is the original one.
  const cuda::ConvProblem& problem() const { return problem_; }

  // Arrays of the original convolution to the ones of problem(), and back. They must be aligned to
  // 16 bytes, as all memory of devices is.
  void LaunchImage(const void* x, void* patches, cuda::Stream stream) const;
  void LaunchFilter(const void* filter, void* patches, cuda::Stream stream) const;
  void LaunchFilterGradient(const void* patches, void* filter, cuda::Stream stream) const;

 private:
  Patches by_;
  cuda::ConvProblem problem_;
  int64_t filter_elements_;  // of the original filter
};

}  // namespace caffe2
