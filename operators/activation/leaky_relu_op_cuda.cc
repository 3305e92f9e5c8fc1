#include "operators/activation/leaky_relu_op.h"
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(LeakyRelu, LeakyReluFunction);

}  // namespace caffe2
