// MomentumSGD, MomentumSGDUpdate, FP32MomentumSGDUpdate and FP16MomentumSGDUpdate on CUDA devices.
#include "operators/optimizer/momentum_sgd_op.h"
#include "operators/optimizer/update_op_cuda.h"

namespace caffe2 {

using FP16MomentumSgdOp = MomentumSgdOp<CUDAContext, float16>;

REGISTER_CUDA_OPERATOR(MomentumSGD, MomentumSgdOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MomentumSGDUpdate, MomentumSgdOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FP32MomentumSGDUpdate, MomentumSgdOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FP16MomentumSGDUpdate, FP16MomentumSgdOp);

}  // namespace caffe2
