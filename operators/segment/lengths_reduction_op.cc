// LengthsSum, LengthsMean, LengthsMax, LengthsWeightedSum.
#include "operators/segment/lengths_specs.h"

namespace caffe2 {

using DenseSpecs = LengthsSpecs<false>;

REGISTER_SEGMENT_REDUCTION(LengthsSum, DenseSpecs::kSum);
REGISTER_SEGMENT_REDUCTION(LengthsMean, DenseSpecs::kMean);
REGISTER_SEGMENT_REDUCTION(LengthsMax, DenseSpecs::kMax);
REGISTER_SEGMENT_REDUCTION(LengthsWeightedSum, DenseSpecs::kWeightedSum);

REGISTER_SEGMENT_GRADIENT(LengthsSumGradient, DenseSpecs::kSumGradient);
REGISTER_SEGMENT_GRADIENT(LengthsIndicesInGradientSumGradient, DenseSpecs::kSumWithIndices);
REGISTER_SEGMENT_GRADIENT(LengthsMeanGradient, DenseSpecs::kMeanGradient);
REGISTER_SEGMENT_GRADIENT(LengthsMaxWithMainInputAndForwardOutputGradient,
                          DenseSpecs::kMaxGradient);
REGISTER_SEGMENT_GRADIENT(LengthsWeightedSumGradient, DenseSpecs::kWeightedGradient);
REGISTER_SEGMENT_GRADIENT(LengthsWeightedSumWithMainInputGradient, DenseSpecs::kWithWeights);

REGISTER_GRADIENT(LengthsSum, RegisteredSegmentGradientMaker<DenseSpecs::kSum>);
REGISTER_GRADIENT(LengthsMean, RegisteredSegmentGradientMaker<DenseSpecs::kMean>);
REGISTER_GRADIENT(LengthsMax, RegisteredSegmentGradientMaker<DenseSpecs::kMax>);
REGISTER_GRADIENT(LengthsWeightedSum, RegisteredSegmentGradientMaker<DenseSpecs::kWeightedSum>);

}  // namespace caffe2
