#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/reciprocal_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Reciprocal, ReciprocalFunction);

}  // namespace caffe2
