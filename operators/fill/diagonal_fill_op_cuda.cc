// DiagonalFill of CUDA tensors, by the host.
#include "operators/common/host_fallback_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(DiagonalFill, HostFallbackOp);

}  // namespace caffe2
