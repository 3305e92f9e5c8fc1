// Convolutions of float images in NHWC with few channels and filters, by a kernel of our own.
//
// oneDNN's kernels for AVX-512 compute whole vectors of 16 channels or filters: 64 for 50. Here a
// row of sums lies in vectors of 16 and at most one of 8, and the sums of several rows stay in
// registers while the products are added. A row holds the filters or, in the gradient of the
// images, the channels of the neighbouring pixels under one row of the kernel.
#pragma once

#include <vector>

#include "caffe2/utils/onednn_conv.h"

namespace caffe2::onednn {

// One problem. One thread at a time runs an object; the work inside is parallel, over images. The
// results do not depend on the number of threads.
class RowConv {
 public:
  // True for two spatial axes, one group, float images in NHWC without padding, a horizontal
  // dilation of 1, no more than a bias added to the result, and 9 to 56 filters; for kBackwardData
  // any number of filters, but a row of the kernel with at least 9 values (width times channels).
  static bool Supports(const ConvProblem& problem, ConvDirection direction);

  // Throws EnforceNotMet if the problem is not supported.
  RowConv(const ConvProblem& problem, ConvDirection direction);

  // Each is for objects made for its direction. `bias` and `d_bias` are null for problems without.
  void Forward(const float* src, const float* filter, const float* bias, float* dst) const;
  void BackwardData(const float* d_dst, const float* filter, float* d_src) const;
  void BackwardFilter(const float* src, const float* d_dst, float* d_filter, float* d_bias) const;

 private:
  const int64_t images_, channels_, filters_, kernel_height_;
  const int64_t row_;  // values in a row of the kernel: width times channels
  const int64_t out_height_, out_width_, image_size_;
  // Values of an image from one row of the kernel, row of results, result to the next.
  int64_t line_ = 0, line_step_ = 0, pixel_step_ = 0;
  std::vector<int64_t> pixels_;  // where the window of each result begins
  // The results down their columns: windows side by side overlap, so that a sum would wait for the
  // one before.
  std::vector<int64_t> columns_;
  std::vector<int64_t> taps_;  // where each value of a window lies
};

}  // namespace caffe2::onednn
