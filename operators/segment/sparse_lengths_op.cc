// SparseLengthsSum, SparseLengthsMean, SparseLengthsWeightedSum, and the positional form.
#include "operators/segment/lengths_specs.h"

namespace caffe2 {

using Specs = LengthsSpecs<true>;

REGISTER_SEGMENT_REDUCTION(SparseLengthsSum, Specs::kSum);
REGISTER_SEGMENT_REDUCTION(SparseLengthsMean, Specs::kMean);
REGISTER_SEGMENT_REDUCTION(SparseLengthsWeightedSum, Specs::kWeightedSum);
REGISTER_SEGMENT_REDUCTION(SparseLengthsPositionalWeightedSum, Specs::kPositional);

REGISTER_SEGMENT_GRADIENT(SparseLengthsSumGradient, Specs::kSumGradient);
REGISTER_SEGMENT_GRADIENT(SparseLengthsMeanGradient, Specs::kMeanGradient);
REGISTER_SEGMENT_GRADIENT(SparseLengthsWeightedSumGradient, Specs::kWeightedGradient);
REGISTER_SEGMENT_GRADIENT(SparseLengthsWeightedSumWithMainInputGradient, Specs::kWithWeights);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientSumGradient, Specs::kSumWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientMeanGradient, Specs::kMeanWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientWeightedSumGradient,
                          Specs::kWeightedWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient,
                          Specs::kWithWeights);

REGISTER_GRADIENT(SparseLengthsSum, RegisteredSegmentGradientMaker<Specs::kSum>);
REGISTER_GRADIENT(SparseLengthsMean, RegisteredSegmentGradientMaker<Specs::kMean>);
REGISTER_GRADIENT(SparseLengthsWeightedSum, RegisteredSegmentGradientMaker<Specs::kWeightedSum>);
SHOULD_NOT_DO_GRADIENT(SparseLengthsPositionalWeightedSum);

}  // namespace caffe2
