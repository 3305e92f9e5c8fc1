// SparseLengthsSum, SparseLengthsMean and SparseLengthsWeightedSum with their gradients, and the
// positional form, on CUDA devices.
#include "operators/segment/lengths_specs.h"
#include "operators/segment/segment_reduction_cuda.h"

namespace caffe2 {

using Specs = LengthsSpecs<true>;

REGISTER_CUDA_OPERATOR(SparseLengthsSum, RegisteredCudaSegmentReduction<Specs::kSum>);
REGISTER_CUDA_OPERATOR(SparseLengthsMean, RegisteredCudaSegmentReduction<Specs::kMean>);
REGISTER_CUDA_OPERATOR(SparseLengthsWeightedSum,
                       RegisteredCudaSegmentReduction<Specs::kWeightedSum>);
REGISTER_CUDA_OPERATOR(SparseLengthsPositionalWeightedSum,
                       RegisteredCudaSegmentReduction<Specs::kPositional>);
REGISTER_CUDA_OPERATOR(SparseLengthsSumGradient,
                       RegisteredCudaSegmentGradient<Specs::kSumGradient>);
REGISTER_CUDA_OPERATOR(SparseLengthsMeanGradient,
                       RegisteredCudaSegmentGradient<Specs::kMeanGradient>);
REGISTER_CUDA_OPERATOR(SparseLengthsWeightedSumGradient,
                       RegisteredCudaSegmentGradient<Specs::kWeightedGradient>);
REGISTER_CUDA_OPERATOR(SparseLengthsWeightedSumWithMainInputGradient,
                       RegisteredCudaSegmentGradient<Specs::kWithWeights>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientSumGradient,
                       RegisteredCudaSegmentGradient<Specs::kSumWithIndices>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientMeanGradient,
                       RegisteredCudaSegmentGradient<Specs::kMeanWithIndices>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientWeightedSumGradient,
                       RegisteredCudaSegmentGradient<Specs::kWeightedWithIndices>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient,
                       RegisteredCudaSegmentGradient<Specs::kWithWeights>);

}  // namespace caffe2
