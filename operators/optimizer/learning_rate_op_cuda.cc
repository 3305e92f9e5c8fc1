// One number, made of the host's iteration.
#include "operators/optimizer/learning_rate_op.h"

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/host_fallback_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LearningRate, HostFallbackOp);

}  // namespace caffe2
