// SquaredL2Distance and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/loss/distance_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SquaredL2Distance, DistanceOp<CUDAContext, SquaredL2Distance>);
REGISTER_CUDA_OPERATOR(SquaredL2DistanceGradient,
                       DistanceGradientOp<CUDAContext, SquaredL2Distance>);

}  // namespace caffe2
