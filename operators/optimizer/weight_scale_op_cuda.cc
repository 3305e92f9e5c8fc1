// WeightScale on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/optimizer/weight_scale_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(WeightScale, WeightScaleOp<CUDAContext>);

}  // namespace caffe2
