// Reductions over chosen dimensions on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/reduce/reduce_cuda.h"
#include "operators/reduce/reduce_kernels.h"
#include "operators/reduce/reduce_op.h"

namespace caffe2 {

template <typename T>
void ReduceGradientTo(Reduction reduction, const BroadcastPlan& plan, int64_t count, const T* dy,
                      const T* x, const T* y, T* dx, CUDAContext* context) {
  LaunchReduceGradient(reduction, StridesOf(plan), plan.numel, count, dy, x, y, dx,
                       context->stream());
}

namespace {

#define REGISTER_CUDA_REDUCE(name, kind)                                \
  REGISTER_CUDA_OPERATOR(name, ReduceOp<CUDAContext, Reduction::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, ReduceGradientOp<CUDAContext, Reduction::kind>)
REGISTER_CUDA_REDUCE(ReduceSum, kSum);
REGISTER_CUDA_REDUCE(ReduceMean, kMean);
REGISTER_CUDA_REDUCE(ReduceMax, kMax);
REGISTER_CUDA_REDUCE(ReduceMin, kMin);
REGISTER_CUDA_REDUCE(ReduceL1, kL1);
REGISTER_CUDA_REDUCE(ReduceL2, kL2);

}  // namespace
}  // namespace caffe2
