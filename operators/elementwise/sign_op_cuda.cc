#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/sign_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Sign, UnaryOp<CUDAContext, SignFunction, NumericTypes>);

}  // namespace caffe2
