// MarginRankingCriterion and CosineEmbeddingCriterion with their gradients on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/loss/ranking_criterion_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(MarginRankingCriterion, MarginRankingCriterionOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MarginRankingCriterionGradient,
                       MarginRankingCriterionGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CosineEmbeddingCriterion, CosineEmbeddingCriterionOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CosineEmbeddingCriterionGradient,
                       CosineEmbeddingCriterionGradientOp<CUDAContext>);

}  // namespace caffe2
