// SparseLengthsSum, SparseLengthsMean, SparseLengthsWeightedSum, and the positional form.
#include "operators/segment/segment_reduction.h"

namespace caffe2 {
namespace {

constexpr SegmentSpec kSum{SegmentForm::kLengths, SegmentReducer::kSum, true};
constexpr SegmentSpec kMean{SegmentForm::kLengths, SegmentReducer::kMean, true};
constexpr SegmentSpec kWeightedSum{SegmentForm::kLengths, SegmentReducer::kWeightedSum, true};
constexpr SegmentSpec kPositional{SegmentForm::kLengths, SegmentReducer::kPositionalWeightedSum,
                                  true};

constexpr SegmentGradientSpec kSumWithIndices{.forward = kSum, .with_indices = true};
constexpr SegmentGradientSpec kMeanWithIndices{.forward = kMean, .with_indices = true};
constexpr SegmentGradientSpec kWeightedWithIndices{.forward = kWeightedSum, .with_indices = true};
constexpr SegmentGradientSpec kWithWeights{
    .forward = kWeightedSum, .with_data = true, .with_indices = true};

}  // namespace

REGISTER_SEGMENT_REDUCTION(SparseLengthsSum, kSum);
REGISTER_SEGMENT_REDUCTION(SparseLengthsMean, kMean);
REGISTER_SEGMENT_REDUCTION(SparseLengthsWeightedSum, kWeightedSum);
REGISTER_SEGMENT_REDUCTION(SparseLengthsPositionalWeightedSum, kPositional);

REGISTER_SEGMENT_GRADIENT(SparseLengthsSumGradient, SegmentGradientSpec{kSum});
REGISTER_SEGMENT_GRADIENT(SparseLengthsMeanGradient, SegmentGradientSpec{kMean});
REGISTER_SEGMENT_GRADIENT(SparseLengthsWeightedSumGradient, SegmentGradientSpec{kWeightedSum});
REGISTER_SEGMENT_GRADIENT(SparseLengthsWeightedSumWithMainInputGradient, kWithWeights);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientSumGradient, kSumWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientMeanGradient, kMeanWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientWeightedSumGradient, kWeightedWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient,
                          kWithWeights);

REGISTER_GRADIENT(SparseLengthsSum, RegisteredSegmentGradientMaker<kSum>);
REGISTER_GRADIENT(SparseLengthsMean, RegisteredSegmentGradientMaker<kMean>);
REGISTER_GRADIENT(SparseLengthsWeightedSum, RegisteredSegmentGradientMaker<kWeightedSum>);
SHOULD_NOT_DO_GRADIENT(SparseLengthsPositionalWeightedSum);

}  // namespace caffe2
