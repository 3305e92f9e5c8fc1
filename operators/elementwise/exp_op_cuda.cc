#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/exp_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Exp, UnaryOp<CUDAContext, ExpFunction, FloatTypes>);

}  // namespace caffe2
