// Convolutions of images of few channels, such as the first layer of a network for photographs.
#pragma once

#include <optional>

#include "caffe2/cuda/convolution.h"
#include "operators/conv/few_channels_functions.h"

namespace caffe2 {

// cuDNN multiplies 64 channels of 16 bits at a time, for each tap of the filter. With 3 channels
// most of that work is wasted: on an H100 the first layer of ResNet-50 (3 channels, 7x7, stride 2)
// ran at 2 % of the speed of other layers. The convolution of patches (Patches) has up to kMaxDepth
// channels and fewer taps. It adds the same products and zeros. A zero times an infinite pixel
// is NaN, so an infinite pixel also makes some outputs NaN whose windows do not contain it.
class FewChannelsConv {
 public:
  static constexpr int64_t kMaxChannels = 4, kMaxDepth = 64;
  static constexpr int64_t kMaxBytes = int64_t{4} << 30;  // of patches

  // Returns nothing unless the problem is two-dimensional, NHWC, in 16 bits, with few channels, one
  // group and no dilation, and its patches are within the limits above. Logs a warning if they
  // would take too much memory.
  static std::optional<FewChannelsConv> Make(const cuda::ConvProblem& problem);

  // The convolution of patches. Its y equals the y of the original convolution.
  const cuda::ConvProblem& problem() const { return problem_; }

  // Convert arrays of the original convolution to arrays of problem(), and back. The array
  // `patches` must be aligned to 16 bytes.
  void LaunchImage(const void* x, void* patches, cuda::Stream stream) const;
  void LaunchFilter(const void* filter, void* patches, cuda::Stream stream) const;
  void LaunchFilterGradient(const void* patches, void* filter, cuda::Stream stream) const;

 private:
  Patches by_;
  cuda::ConvProblem problem_;
  int64_t filter_elements_;  // of the original filter
};

}  // namespace caffe2
