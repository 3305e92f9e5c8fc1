#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/trigonometric_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Sin, SinFunction, FloatTypes);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Cos, CosFunction, FloatTypes);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Tan, TanFunction);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Asin, AsinFunction);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Acos, AcosFunction);
REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Atan, AtanFunction);

}  // namespace caffe2
