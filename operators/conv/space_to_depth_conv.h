// Convolutions of images of few channels, such as the first layer of a network for photographs.
#pragma once

#include <optional>

#include "caffe2/cuda/convolution.h"
#include "operators/conv/space_to_depth_functions.h"

namespace caffe2 {

// cuDNN has fast kernels in 16 bits only where a pixel has a multiple of 8 channels. On an H100 the
// first layer of ResNet-50 (3 channels, 7x7, stride 2) ran at 2 % of the speed of the others. The
// convolution of blocks of pixels (SpaceToDepth) computes the same sums, with zeros among them.
class SpaceToDepthConv {
 public:
  // Empty for problems that are not NHWC in 16 bits with 1, 3 or 4 channels, one group, strides of
  // 1 or 2, and no dilation.
  static std::optional<SpaceToDepthConv> Make(const cuda::ConvProblem& problem);

  // The convolution of blocks. Its y is the original one.
  const cuda::ConvProblem& problem() const { return problem_; }

  // Arrays of the original convolution to the ones of problem(), and back. They must be aligned to
  // 16 bytes, as all memory of devices is.
  void LaunchImage(const void* x, void* blocks, cuda::Stream stream) const;
  void LaunchFilter(const void* filter, void* blocks, cuda::Stream stream) const;
  void LaunchFilterGradient(const void* blocks, void* filter, cuda::Stream stream) const;

 private:
  SpaceToDepth by_;
  cuda::ConvProblem problem_;
  int64_t filter_elements_;  // of the original filter
};

}  // namespace caffe2
