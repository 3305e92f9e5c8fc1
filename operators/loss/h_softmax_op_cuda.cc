// HSoftmax and its gradient on CUDA devices.
#include "operators/common/device_integers.h"
#include "operators/common/host_device_cuda.h"
#include "operators/loss/h_softmax_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(HSoftmax, HSoftmaxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(HSoftmaxGradient, HSoftmaxGradientOp<CUDAContext>);

}  // namespace caffe2
