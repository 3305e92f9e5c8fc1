#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/stump_func_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(StumpFunc, UnaryOp<CUDAContext, StumpFunction, TensorTypes<float>>);

}  // namespace caffe2
