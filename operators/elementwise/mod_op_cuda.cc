#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/mod_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Mod, UnaryOp<CUDAContext, ModFunction, IntegerTypes>);

}  // namespace caffe2
