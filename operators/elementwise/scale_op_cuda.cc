#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/scale_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Scale, UnaryOp<CUDAContext, ScaleFunction, FloatTypes>);

}  // namespace caffe2
