// SigmoidCrossEntropyWithLogits and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/loss/sigmoid_cross_entropy_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SigmoidCrossEntropyWithLogits, SigmoidCrossEntropyOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(SigmoidCrossEntropyWithLogitsGradient,
                       SigmoidCrossEntropyGradientOp<CUDAContext, false>);

}  // namespace caffe2
