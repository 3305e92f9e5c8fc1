#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/log_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Log, UnaryOp<CUDAContext, LogFunction, FloatTypes>);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Log1p, Log1pFunction);

}  // namespace caffe2
