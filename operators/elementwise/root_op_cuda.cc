#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/root_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Sqrt, UnaryOp<CUDAContext, SqrtFunction, FloatTypes>);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Rsqrt, RsqrtFunction);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Cbrt, CbrtFunction);

}  // namespace caffe2
