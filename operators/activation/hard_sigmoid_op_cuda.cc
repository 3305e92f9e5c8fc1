#include "operators/activation/hard_sigmoid_op.h"
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(HardSigmoid, HardSigmoidFunction);

}  // namespace caffe2
