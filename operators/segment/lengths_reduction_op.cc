// LengthsSum, LengthsMean, LengthsMax, LengthsWeightedSum.
#include "operators/segment/lengths_specs.h"

namespace caffe2 {

using Specs = LengthsSpecs<false>;

REGISTER_SEGMENT_REDUCTION(LengthsSum, Specs::kSum);
REGISTER_SEGMENT_REDUCTION(LengthsMean, Specs::kMean);
REGISTER_SEGMENT_REDUCTION(LengthsMax, Specs::kMax);
REGISTER_SEGMENT_REDUCTION(LengthsWeightedSum, Specs::kWeightedSum);

REGISTER_SEGMENT_GRADIENT(LengthsSumGradient, Specs::kSumGradient);
REGISTER_SEGMENT_GRADIENT(LengthsIndicesInGradientSumGradient, Specs::kSumWithIndices);
REGISTER_SEGMENT_GRADIENT(LengthsMeanGradient, Specs::kMeanGradient);
REGISTER_SEGMENT_GRADIENT(LengthsMaxWithMainInputAndForwardOutputGradient, Specs::kMaxGradient);
REGISTER_SEGMENT_GRADIENT(LengthsWeightedSumGradient, Specs::kWeightedGradient);
REGISTER_SEGMENT_GRADIENT(LengthsWeightedSumWithMainInputGradient, Specs::kWithWeights);

REGISTER_GRADIENT(LengthsSum, RegisteredSegmentGradientMaker<Specs::kSum>);
REGISTER_GRADIENT(LengthsMean, RegisteredSegmentGradientMaker<Specs::kMean>);
REGISTER_GRADIENT(LengthsMax, RegisteredSegmentGradientMaker<Specs::kMax>);
REGISTER_GRADIENT(LengthsWeightedSum, RegisteredSegmentGradientMaker<Specs::kWeightedSum>);

}  // namespace caffe2
