#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/replace_nan_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ReplaceNaN, UnaryOp<CUDAContext, ReplaceNaNFunction, FloatTypes>);

}  // namespace caffe2
