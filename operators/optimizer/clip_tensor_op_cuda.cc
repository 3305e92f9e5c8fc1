// ClipTensorByScaling and ClipTensorByNorm on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/common/rate_input_cuda.h"
#include "operators/optimizer/clip_tensor_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ClipTensorByScaling, ClipTensorByScalingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ClipTensorByNorm, ClipTensorByScalingOp<CUDAContext>);

}  // namespace caffe2
