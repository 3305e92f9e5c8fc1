// WeightedSigmoidCrossEntropyWithLogits and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/loss/sigmoid_cross_entropy_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(WeightedSigmoidCrossEntropyWithLogits,
                       SigmoidCrossEntropyOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(WeightedSigmoidCrossEntropyWithLogitsGradient,
                       SigmoidCrossEntropyGradientOp<CUDAContext, true>);

}  // namespace caffe2
