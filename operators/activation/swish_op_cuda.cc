#include "operators/activation/swish_op.h"
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Swish, SwishFunction, FloatTypes);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Mish, MishFunction, FloatTypes);

}  // namespace caffe2
