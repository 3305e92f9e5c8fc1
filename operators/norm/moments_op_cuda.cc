// Moments and BatchMoments on CUDA devices.
#include "operators/elementwise/arithmetic_op.h"
#include "operators/elementwise/binary_op_cuda.h"
#include "operators/elementwise/sqr_op.h"
#include "operators/norm/moments_kernels.h"
#include "operators/norm/moments_op.h"
#include "operators/reduce/reduce_cuda.h"

namespace caffe2 {

template <typename T>
void MomentsTo(bool centred, const BroadcastPlan& plan, int64_t results, const T* x, T* first,
               T* second, CUDAContext* context) {
  const int64_t count = results == 0 ? 0 : plan.numel / results;
  ReduceTo(Reduction::kMean, plan, x, results, count, first, context);
  Tensor squares(context->device());
  squares.Resize(plan.numel);
  T* square = squares.mutable_data<T>();
  if (centred) {
    MapBroadcast(SubFunction(), plan, x, static_cast<const T*>(first), square, context);
    x = square;
  }
  MapElements(SqrFunction(), plan.numel, context, square, x);
  ReduceTo(Reduction::kMean, plan, static_cast<const T*>(square), results, count, second, context);
}

template <typename T>
void MomentsGradientTo(const BroadcastPlan& plan, T share, const T* dfirst, const T* dsecond,
                       const T* x, const T* mean, T* dx, CUDAContext* context) {
  LaunchMomentsGradient(StridesOf(plan), plan.numel, share, dfirst, dsecond, x, mean, dx,
                        context->stream());
}

namespace {

template <class Over>
using CudaMomentsOp = MomentsOp<CUDAContext, Over>;
template <class Over>
using CudaMomentsGradientOp = MomentsGradientOp<CUDAContext, Over>;

REGISTER_CUDA_OPERATOR(Moments, CudaMomentsOp<OverAxes>);
REGISTER_CUDA_OPERATOR(MomentsGradient, CudaMomentsGradientOp<OverAxes>);
REGISTER_CUDA_OPERATOR(BatchMoments, CudaMomentsOp<OverBatch>);
REGISTER_CUDA_OPERATOR(BatchMomentsGradient, CudaMomentsGradientOp<OverBatch>);

}  // namespace
}  // namespace caffe2
