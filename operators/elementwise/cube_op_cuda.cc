#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/cube_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR_WITH_GRADIENT(Cube, CubeFunction);

}  // namespace caffe2
