#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/abs_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Abs, UnaryOp<CUDAContext, AbsFunction, NumericTypes>);
REGISTER_CUDA_OPERATOR(AbsGradient, UnaryGradientOp<CUDAContext, AbsFunction, FloatTypes>);

}  // namespace caffe2
