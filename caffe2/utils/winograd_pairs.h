// Winograd's F(2x2, 3x3) for convolutions of bfloat16 images in NHWC, with products of pairs
// (bfloat16_pairs.h). Internal to onednn_winograd.h, whose WinogradSupports says which problems are
// supported.
#pragma once

#include <memory>

#include "caffe2/core/half.h"
#include "caffe2/utils/bfloat16_pairs.h"
#include "caffe2/utils/onednn_conv.h"

namespace caffe2::onednn {

// The convolution, or its input gradient (`rotated`), which is a convolution with the rotated
// filter.
class PairCorrelation {
 public:
  PairCorrelation(const ConvProblem& problem, bool rotated);
  // Like WinogradCorrelation::Run.
  void Run(const void* in, const void* filter, const void* bias, void* out);

 private:
  struct Sizes;
  void TransformFilters(const void* filter, void* planes) const;
  // Writes `m_count` transformed filters from m on, and `c_count` of their channels from c on, to
  // all planes, the first of which is `plane`.
  void InterleaveFilters(int64_t m, int64_t m_count, int64_t c, int64_t c_count,
                         const bfloat16* from, BFloat16Pair* plane) const;
  // Transforms the input of a chunk of tiles into `scratch`, from which MultiplyChunk computes a
  // block of channels of the result.
  void TransformChunk(int64_t chunk, const void* in, char* scratch) const;
  void MultiplyChunk(int64_t chunk, int64_t block, const BFloat16Pair* filters, const float* bias,
                     void* out, char* scratch) const;

  const ConvProblem problem_;
  const bool rotated_;
  const std::shared_ptr<const Sizes> sizes_;
  std::shared_ptr<void> kept_filter_;         // a constant filter's transform
  const void* kept_filter_source_ = nullptr;  // its source
};

// The filter gradient. Its bits do not depend on the number of threads.
class PairFilterGradient {
 public:
  explicit PairFilterGradient(const ConvProblem& problem) : problem_(problem) {}
  // Like WinogradFilterGradient::Run.
  void Run(const void* src, const void* d_dst, void* d_filter, void* d_bias) const;

 private:
  struct Sizes;
  class Worker;

  // Adds the sums of all parts and transforms them.
  void WriteFilters(const Sizes& sizes, float* sums, void* d_filter) const;

  const ConvProblem problem_;
};

}  // namespace caffe2::onednn
