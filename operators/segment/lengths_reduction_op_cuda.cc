// LengthsSum, LengthsMean, LengthsMax and LengthsWeightedSum with their gradients on CUDA devices.
#include "operators/segment/lengths_specs.h"
#include "operators/segment/segment_reduction_cuda.h"

namespace caffe2 {

using Specs = LengthsSpecs<false>;

REGISTER_CUDA_OPERATOR(LengthsSum, RegisteredCudaSegmentReduction<Specs::kSum>);
REGISTER_CUDA_OPERATOR(LengthsMean, RegisteredCudaSegmentReduction<Specs::kMean>);
REGISTER_CUDA_OPERATOR(LengthsMax, RegisteredCudaSegmentReduction<Specs::kMax>);
REGISTER_CUDA_OPERATOR(LengthsWeightedSum, RegisteredCudaSegmentReduction<Specs::kWeightedSum>);
REGISTER_CUDA_OPERATOR(LengthsSumGradient, RegisteredCudaSegmentGradient<Specs::kSumGradient>);
REGISTER_CUDA_OPERATOR(LengthsIndicesInGradientSumGradient,
                       RegisteredCudaSegmentGradient<Specs::kSumWithIndices>);
REGISTER_CUDA_OPERATOR(LengthsMeanGradient, RegisteredCudaSegmentGradient<Specs::kMeanGradient>);
REGISTER_CUDA_OPERATOR(LengthsMaxWithMainInputAndForwardOutputGradient,
                       RegisteredCudaSegmentGradient<Specs::kMaxGradient>);
REGISTER_CUDA_OPERATOR(LengthsWeightedSumGradient,
                       RegisteredCudaSegmentGradient<Specs::kWeightedGradient>);
REGISTER_CUDA_OPERATOR(LengthsWeightedSumWithMainInputGradient,
                       RegisteredCudaSegmentGradient<Specs::kWithWeights>);

}  // namespace caffe2
