// LengthsSum, LengthsMean, LengthsMax and LengthsWeightedSum with their gradients on CUDA devices.
#include "operators/segment/lengths_specs.h"
#include "operators/segment/segment_reduction_cuda.h"

namespace caffe2 {

using DenseSpecs = LengthsSpecs<false>;

REGISTER_CUDA_OPERATOR(LengthsSum, RegisteredCudaSegmentReduction<DenseSpecs::kSum>);
REGISTER_CUDA_OPERATOR(LengthsMean, RegisteredCudaSegmentReduction<DenseSpecs::kMean>);
REGISTER_CUDA_OPERATOR(LengthsMax, RegisteredCudaSegmentReduction<DenseSpecs::kMax>);
REGISTER_CUDA_OPERATOR(LengthsWeightedSum,
                       RegisteredCudaSegmentReduction<DenseSpecs::kWeightedSum>);
REGISTER_CUDA_OPERATOR(LengthsSumGradient, RegisteredCudaSegmentGradient<DenseSpecs::kSumGradient>);
REGISTER_CUDA_OPERATOR(LengthsIndicesInGradientSumGradient,
                       RegisteredCudaSegmentGradient<DenseSpecs::kSumWithIndices>);
REGISTER_CUDA_OPERATOR(LengthsMeanGradient,
                       RegisteredCudaSegmentGradient<DenseSpecs::kMeanGradient>);
REGISTER_CUDA_OPERATOR(LengthsMaxWithMainInputAndForwardOutputGradient,
                       RegisteredCudaSegmentGradient<DenseSpecs::kMaxGradient>);
REGISTER_CUDA_OPERATOR(LengthsWeightedSumGradient,
                       RegisteredCudaSegmentGradient<DenseSpecs::kWeightedGradient>);
REGISTER_CUDA_OPERATOR(LengthsWeightedSumWithMainInputGradient,
                       RegisteredCudaSegmentGradient<DenseSpecs::kWithWeights>);

}  // namespace caffe2
