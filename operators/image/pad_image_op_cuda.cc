// PadImage and its gradient on CUDA devices.
#include "operators/image/pad_image_op.h"
#include "operators/image/pixel_map_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(PadImage, PadImageOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PadImageGradient, PadImageGradientOp<CUDAContext>);

}  // namespace caffe2
