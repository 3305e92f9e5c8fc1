// SpatialNarrowAs and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/shape/spatial_narrow_as_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SpatialNarrowAs, SpatialNarrowAsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SpatialNarrowAsGradient, SpatialNarrowAsGradientOp<CUDAContext>);

}  // namespace caffe2
