#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/hyperbolic_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Sinh, SinhFunction);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Cosh, CoshFunction);

}  // namespace caffe2
