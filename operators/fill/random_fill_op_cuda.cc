// Random fills of CUDA tensors: the host draws the numbers of the CPU versions.
#include "operators/common/host_fallback_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(UniformFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(UniformIntFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(GaussianFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(XavierFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(MSRAFill, HostFallbackOp);

}  // namespace caffe2
