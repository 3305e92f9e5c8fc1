// GroupSpatialSoftmax and its gradient on CUDA devices.
#include "operators/activation/group_spatial_softmax_op.h"
#include "operators/common/host_device_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(GroupSpatialSoftmax, GroupSpatialSoftmaxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(GroupSpatialSoftmaxGradient, GroupSpatialSoftmaxGradientOp<CUDAContext>);

}  // namespace caffe2
