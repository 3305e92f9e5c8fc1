// BernoulliJSD and its gradient on CUDA devices.
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/transform_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(BernoulliJSD, BernoulliJSDOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BernoulliJSDGradient, BernoulliJSDGradientOp<CUDAContext>);

}  // namespace caffe2
