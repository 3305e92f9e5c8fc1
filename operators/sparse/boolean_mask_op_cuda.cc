// BooleanMask, its gradient and BooleanUnmask on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/sparse/boolean_mask_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BooleanMask, BooleanMaskOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BooleanMaskGradient, BooleanMaskGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BooleanUnmask, BooleanUnmaskOp<CUDAContext>);

}  // namespace caffe2
