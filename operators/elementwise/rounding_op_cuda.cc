#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/rounding_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Ceil, UnaryOp<CUDAContext, CeilFunction, FloatTypes>);
REGISTER_CUDA_OPERATOR(Floor, UnaryOp<CUDAContext, FloorFunction, FloatTypes>);

}  // namespace caffe2
