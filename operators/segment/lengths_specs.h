// The specs (segment_reduction.h) of LengthsSum, LengthsMean, ... and of their gradients; if
// `sparse`, of SparseLengthsSum, SparseLengthsMean, ...
#pragma once

#include "operators/segment/segment_reduction.h"

namespace caffe2 {

template <bool sparse>
struct LengthsSpecs {
  static constexpr SegmentSpec kSum{SegmentKind::kLengths, SegmentReducer::kSum, sparse};
  static constexpr SegmentSpec kMean{SegmentKind::kLengths, SegmentReducer::kMean, sparse};
  static constexpr SegmentSpec kMax{SegmentKind::kLengths, SegmentReducer::kMax, sparse};
  static constexpr SegmentSpec kWeightedSum{SegmentKind::kLengths, SegmentReducer::kWeightedSum,
                                            sparse};
  static constexpr SegmentSpec kPositional{SegmentKind::kLengths,
                                           SegmentReducer::kPositionalWeightedSum, sparse};

  static constexpr SegmentGradientSpec kSumGradient{kSum};
  static constexpr SegmentGradientSpec kSumWithIndices{.forward = kSum, .with_indices = true};
  static constexpr SegmentGradientSpec kMeanGradient{kMean};
  static constexpr SegmentGradientSpec kMeanWithIndices{.forward = kMean, .with_indices = true};
  static constexpr SegmentGradientSpec kMaxGradient{
      .forward = kMax, .with_output = true, .with_data = true};
  static constexpr SegmentGradientSpec kWeightedGradient{kWeightedSum};
  static constexpr SegmentGradientSpec kWeightedWithIndices{.forward = kWeightedSum,
                                                            .with_indices = true};
  static constexpr SegmentGradientSpec kWithWeights{
      .forward = kWeightedSum, .with_data = true, .with_indices = sparse};
};

}  // namespace caffe2
