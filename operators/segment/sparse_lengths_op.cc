// SparseLengthsSum, SparseLengthsMean, SparseLengthsWeightedSum, and the positional form.
#include "operators/segment/lengths_specs.h"

namespace caffe2 {

using SparseSpecs = LengthsSpecs<true>;

REGISTER_SEGMENT_REDUCTION(SparseLengthsSum, SparseSpecs::kSum);
REGISTER_SEGMENT_REDUCTION(SparseLengthsMean, SparseSpecs::kMean);
REGISTER_SEGMENT_REDUCTION(SparseLengthsWeightedSum, SparseSpecs::kWeightedSum);
REGISTER_SEGMENT_REDUCTION(SparseLengthsPositionalWeightedSum, SparseSpecs::kPositional);

REGISTER_SEGMENT_GRADIENT(SparseLengthsSumGradient, SparseSpecs::kSumGradient);
REGISTER_SEGMENT_GRADIENT(SparseLengthsMeanGradient, SparseSpecs::kMeanGradient);
REGISTER_SEGMENT_GRADIENT(SparseLengthsWeightedSumGradient, SparseSpecs::kWeightedGradient);
REGISTER_SEGMENT_GRADIENT(SparseLengthsWeightedSumWithMainInputGradient, SparseSpecs::kWithWeights);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientSumGradient, SparseSpecs::kSumWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientMeanGradient,
                          SparseSpecs::kMeanWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientWeightedSumGradient,
                          SparseSpecs::kWeightedWithIndices);
REGISTER_SEGMENT_GRADIENT(SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient,
                          SparseSpecs::kWithWeights);

REGISTER_GRADIENT(SparseLengthsSum, RegisteredSegmentGradientMaker<SparseSpecs::kSum>);
REGISTER_GRADIENT(SparseLengthsMean, RegisteredSegmentGradientMaker<SparseSpecs::kMean>);
REGISTER_GRADIENT(SparseLengthsWeightedSum,
                  RegisteredSegmentGradientMaker<SparseSpecs::kWeightedSum>);
SHOULD_NOT_DO_GRADIENT(SparseLengthsPositionalWeightedSum);

}  // namespace caffe2
