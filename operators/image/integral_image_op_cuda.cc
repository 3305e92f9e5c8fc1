// IntegralImage and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/image/integral_image_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(IntegralImage, IntegralImageOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(IntegralImageGradient, IntegralImageGradientOp<CUDAContext>);

}  // namespace caffe2
