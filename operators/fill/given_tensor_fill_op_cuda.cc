// Given values in CUDA tensors, copied from the host.
#include "operators/common/host_fallback_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(GivenTensorFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(GivenTensorDoubleFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(GivenTensorBoolFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(GivenTensorIntFill, HostFallbackOp);
REGISTER_CUDA_OPERATOR(GivenTensorInt64Fill, HostFallbackOp);

}  // namespace caffe2
