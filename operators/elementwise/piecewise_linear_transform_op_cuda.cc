#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/piecewise_linear_transform_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(PiecewiseLinearTransform, PiecewiseLinearTransformOp<CUDAContext>);

}  // namespace caffe2
