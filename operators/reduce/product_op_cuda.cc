// YellowFin, LearningRateAdaption and the gradient of WeightedSum on CUDA devices.
#include "operators/common/optimizer_cuda.h"
#include "operators/common/total_product_cuda.h"
#include "operators/elementwise/weighted_sum_op.h"
#include "operators/optimizer/learning_rate_adaption_op.h"
#include "operators/optimizer/yellowfin_op.h"

namespace caffe2 {
namespace {

REGISTER_CUDA_OPERATOR(WeightedSumGradient, WeightedSumGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(YellowFin, YellowFinOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LearningRateAdaption, LearningRateAdaptionOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
