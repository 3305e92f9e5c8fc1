// SparseLengthsSum, SparseLengthsMean and SparseLengthsWeightedSum with their gradients, and the
// positional form, on CUDA devices.
#include "operators/segment/lengths_specs.h"
#include "operators/segment/segment_reduction_cuda.h"

namespace caffe2 {

using SparseSpecs = LengthsSpecs<true>;

REGISTER_CUDA_OPERATOR(SparseLengthsSum, RegisteredCudaSegmentReduction<SparseSpecs::kSum>);
REGISTER_CUDA_OPERATOR(SparseLengthsMean, RegisteredCudaSegmentReduction<SparseSpecs::kMean>);
REGISTER_CUDA_OPERATOR(SparseLengthsWeightedSum,
                       RegisteredCudaSegmentReduction<SparseSpecs::kWeightedSum>);
REGISTER_CUDA_OPERATOR(SparseLengthsPositionalWeightedSum,
                       RegisteredCudaSegmentReduction<SparseSpecs::kPositional>);
REGISTER_CUDA_OPERATOR(SparseLengthsSumGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kSumGradient>);
REGISTER_CUDA_OPERATOR(SparseLengthsMeanGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kMeanGradient>);
REGISTER_CUDA_OPERATOR(SparseLengthsWeightedSumGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kWeightedGradient>);
REGISTER_CUDA_OPERATOR(SparseLengthsWeightedSumWithMainInputGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kWithWeights>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientSumGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kSumWithIndices>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientMeanGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kMeanWithIndices>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientWeightedSumGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kWeightedWithIndices>);
REGISTER_CUDA_OPERATOR(SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient,
                       RegisteredCudaSegmentGradient<SparseSpecs::kWithWeights>);

}  // namespace caffe2
