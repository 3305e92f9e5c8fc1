#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/negative_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Negative, UnaryOp<CUDAContext, NegativeFunction, NumericTypes>);

}  // namespace caffe2
