// Softmax and its gradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/softmax_kernels.h"
#include "operators/activation/softmax_op.h"

namespace caffe2 {

template <>
template <typename T>
void SoftmaxOp<CUDAContext>::Rows(int64_t rows, int64_t d, const T* x, T* y) {
  LaunchSoftmax(rows, d, x, y, context_.stream());
}

template <>
template <typename T>
void SoftmaxGradientOp<CUDAContext>::Rows(int64_t rows, int64_t d, const T* y, const T* dy, T* dx) {
  LaunchSoftmaxGradient(rows, d, y, dy, dx, context_.stream());
}

REGISTER_CUDA_OPERATOR(Softmax, SoftmaxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SoftmaxGradient, SoftmaxGradientOp<CUDAContext>);

}  // namespace caffe2
