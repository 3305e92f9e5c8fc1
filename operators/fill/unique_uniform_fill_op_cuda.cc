// UniqueUniformFill of CUDA tensors, by the host.
#include "operators/common/host_fallback_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(UniqueUniformFill, HostFallbackOp);

}  // namespace caffe2
