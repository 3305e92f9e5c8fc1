// ResizeNearest and UpsampleNearest with their gradients on CUDA devices.
#include "operators/image/pixel_map_cuda.h"
#include "operators/image/resize_nearest_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ResizeNearest, ResizeOp<CUDAContext, ByScales>);
REGISTER_CUDA_OPERATOR(ResizeNearestGradient, ResizeGradientOp<CUDAContext, ByScales>);
REGISTER_CUDA_OPERATOR(UpsampleNearest, ResizeOp<CUDAContext, ByInteger>);
REGISTER_CUDA_OPERATOR(UpsampleNearestGradient, ResizeGradientOp<CUDAContext, ByInteger>);

}  // namespace caffe2
