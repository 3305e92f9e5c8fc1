#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/sqr_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Sqr, UnaryOp<CUDAContext, SqrFunction, NumericTypes>);

}  // namespace caffe2
