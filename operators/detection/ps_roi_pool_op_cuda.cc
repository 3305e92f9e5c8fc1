// PSRoIPool and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/detection/ps_roi_pool_op.h"
#include "operators/detection/regions_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(PSRoIPool, PSRoIPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PSRoIPoolGradient, PSRoIPoolGradientOp<CUDAContext>);

}  // namespace caffe2
