// Dropout on CUDA devices: it drops the same elements as on the CPU.
#include "caffe2/cuda/context_cuda.h"
#include "operators/dropout_kernels.h"
#include "operators/dropout_op.h"

namespace caffe2 {

template <>
template <typename T>
void DropoutOp<CUDAContext>::Drop(int64_t n, const T* x, uint64_t bound, bool* keep, T* y) {
  RandomGenerator& random = context_.random();
  LaunchDropout(n, x, random.seed(), random.position(), bound, scale(), keep, y, context_.stream());
  random.set_position(random.position() + n);
}

template <>
template <typename T>
void DropoutGradientOp<CUDAContext>::DropGradient(int64_t n, const T* dy, const bool* keep, T* dx) {
  LaunchDropoutGradient(n, dy, keep, scale(), dx, context_.stream());
}

REGISTER_CUDA_OPERATOR(Dropout, DropoutOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DropoutGrad, DropoutGradientOp<CUDAContext>);

}  // namespace caffe2
