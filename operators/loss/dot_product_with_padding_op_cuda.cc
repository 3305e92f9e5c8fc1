// DotProductWithPadding and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/loss/padded_product_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(DotProductWithPadding, DotProductWithPaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DotProductWithPaddingGradient, DotProductWithPaddingGradientOp<CUDAContext>);

}  // namespace caffe2
