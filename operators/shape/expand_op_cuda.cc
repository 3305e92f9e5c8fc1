// Expand and its gradient on CUDA devices.
#include <algorithm>

#include "operators/reduce/reduce_cuda.h"
#include "operators/shape/expand_op.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {

template <typename T>
void RepeatElements(const BroadcastPlan& plan, const T* x, T* y, CUDAContext* context) {
  Permutation strides;
  strides.dims = plan.dims;
  std::copy_n(plan.size.begin(), plan.dims, strides.size);
  std::copy_n(plan.a_stride.begin(), plan.dims, strides.stride);
  LaunchPermute(strides, plan.numel, sizeof(T), x, y, context->stream());
}

REGISTER_CUDA_OPERATOR(Expand, ExpandOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ExpandGradient, ExpandGradientOp<CUDAContext>);

}  // namespace caffe2
