// LengthsSum, LengthsMean, LengthsMax, LengthsWeightedSum.
#include "operators/segment/segment_reduction.h"

namespace caffe2 {
namespace {

constexpr SegmentSpec kSum{SegmentForm::kLengths, SegmentReducer::kSum};
constexpr SegmentSpec kMean{SegmentForm::kLengths, SegmentReducer::kMean};
constexpr SegmentSpec kMax{SegmentForm::kLengths, SegmentReducer::kMax};
constexpr SegmentSpec kWeightedSum{SegmentForm::kLengths, SegmentReducer::kWeightedSum};

constexpr SegmentGradientSpec kSumWithIndices{.forward = kSum, .with_indices = true};
constexpr SegmentGradientSpec kMaxGradient{.forward = kMax, .with_output = true, .with_data = true};
constexpr SegmentGradientSpec kWithWeights{.forward = kWeightedSum, .with_data = true};

}  // namespace

REGISTER_SEGMENT_REDUCTION(LengthsSum, kSum);
REGISTER_SEGMENT_REDUCTION(LengthsMean, kMean);
REGISTER_SEGMENT_REDUCTION(LengthsMax, kMax);
REGISTER_SEGMENT_REDUCTION(LengthsWeightedSum, kWeightedSum);

REGISTER_SEGMENT_GRADIENT(LengthsSumGradient, SegmentGradientSpec{kSum});
REGISTER_SEGMENT_GRADIENT(LengthsIndicesInGradientSumGradient, kSumWithIndices);
REGISTER_SEGMENT_GRADIENT(LengthsMeanGradient, SegmentGradientSpec{kMean});
REGISTER_SEGMENT_GRADIENT(LengthsMaxWithMainInputAndForwardOutputGradient, kMaxGradient);
REGISTER_SEGMENT_GRADIENT(LengthsWeightedSumGradient, SegmentGradientSpec{kWeightedSum});
REGISTER_SEGMENT_GRADIENT(LengthsWeightedSumWithMainInputGradient, kWithWeights);

REGISTER_GRADIENT(LengthsSum, RegisteredSegmentGradientMaker<kSum>);
REGISTER_GRADIENT(LengthsMean, RegisteredSegmentGradientMaker<kMean>);
REGISTER_GRADIENT(LengthsMax, RegisteredSegmentGradientMaker<kMax>);
REGISTER_GRADIENT(LengthsWeightedSum, RegisteredSegmentGradientMaker<kWeightedSum>);

}  // namespace caffe2
