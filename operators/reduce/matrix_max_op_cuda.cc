// RowwiseMax and ColwiseMax with their gradients on CUDA devices.
#include "operators/reduce/matrix_max_op.h"
#include "operators/reduce/reduce_cuda.h"

namespace caffe2 {

static void MaximaOf(const BroadcastPlan& plan, const float* x, int64_t results, float* y,
                     CUDAContext* context) {
  ReduceTo(Reduction::kMax, plan, x, results, results == 0 ? 0 : plan.numel / results, y, context);
}
static void MaximaGradient(const BroadcastPlan& plan, int64_t results, const float* dy,
                           const float* x, const float* y, float* dx, CUDAContext* context) {
  LaunchReduceGradient(Reduction::kMax, StridesOf(plan), plan.numel,
                       results == 0 ? 0 : plan.numel / results, dy, x, y, dx, context->stream());
}

REGISTER_CUDA_OPERATOR(RowwiseMax, MatrixMaxOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(RowwiseMaxGradient, MatrixMaxGradientOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(ColwiseMax, MatrixMaxOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(ColwiseMaxGradient, MatrixMaxGradientOp<CUDAContext, true>);

}  // namespace caffe2
