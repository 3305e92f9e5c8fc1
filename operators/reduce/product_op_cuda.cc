// SequenceMask, YellowFin, LearningRateAdaption, RowwiseMax, ColwiseMax and the gradient of
// WeightedSum on CUDA devices.
#include "operators/common/optimizer_cuda.h"
#include "operators/common/total_product_cuda.h"
#include "operators/elementwise/weighted_sum_op.h"
#include "operators/optimizer/learning_rate_adaption_op.h"
#include "operators/optimizer/yellowfin_op.h"
#include "operators/reduce/matrix_max_op.h"
#include "operators/reduce/reduce_cuda.h"
#include "operators/sequence/sequence_mask_op.h"

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

namespace {

template <bool colwise>
using CudaMatrixMaxOp = MatrixMaxOp<CUDAContext, colwise>;
template <bool colwise>
using CudaMatrixMaxGradientOp = MatrixMaxGradientOp<CUDAContext, colwise>;

REGISTER_CUDA_OPERATOR(RowwiseMax, CudaMatrixMaxOp<false>);
REGISTER_CUDA_OPERATOR(RowwiseMaxGradient, CudaMatrixMaxGradientOp<false>);
REGISTER_CUDA_OPERATOR(ColwiseMax, CudaMatrixMaxOp<true>);
REGISTER_CUDA_OPERATOR(ColwiseMaxGradient, CudaMatrixMaxGradientOp<true>);
REGISTER_CUDA_OPERATOR(SequenceMask, SequenceMaskOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(WeightedSumGradient, WeightedSumGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(YellowFin, YellowFinOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LearningRateAdaption, LearningRateAdaptionOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
