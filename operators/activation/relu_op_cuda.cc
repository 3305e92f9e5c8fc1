#include "operators/activation/relu_op.h"
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Relu, ReluFunction,
                                     TensorTypes<float, float16, bfloat16, int>);

}  // namespace caffe2
