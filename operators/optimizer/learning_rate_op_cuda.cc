// One number, made of the host's iteration.
#include "caffe2/cuda/context_cuda.h"
#include "operators/common/host_fallback_op.h"
#include "operators/optimizer/learning_rate_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LearningRate, HostFallbackOp);

}  // namespace caffe2
