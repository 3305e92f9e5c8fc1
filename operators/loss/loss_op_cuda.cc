// Losses that are no softmax, on CUDA devices.
#include "operators/common/device_integers.h"
#include "operators/common/portable_cuda.h"
#include "operators/loss/cross_entropy_op.h"
#include "operators/loss/h_softmax_op.h"
#include "operators/loss/ranking_criterion_op.h"
#include "operators/loss/ranking_loss_op.h"
#include "operators/loss/sigmoid_cross_entropy_op.h"

namespace caffe2 {
namespace {

template <bool kWeighted>
using SigmoidLossOp = SigmoidCrossEntropyOp<CUDAContext, kWeighted>;
template <bool kWeighted>
using SigmoidLossGradientOp = SigmoidCrossEntropyGradientOp<CUDAContext, kWeighted>;

REGISTER_CUDA_OPERATOR(SigmoidCrossEntropyWithLogits, SigmoidLossOp<false>);
REGISTER_CUDA_OPERATOR(SigmoidCrossEntropyWithLogitsGradient, SigmoidLossGradientOp<false>);
REGISTER_CUDA_OPERATOR(WeightedSigmoidCrossEntropyWithLogits, SigmoidLossOp<true>);
REGISTER_CUDA_OPERATOR(WeightedSigmoidCrossEntropyWithLogitsGradient, SigmoidLossGradientOp<true>);
REGISTER_CUDA_OPERATOR(CrossEntropy, CrossEntropyOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CrossEntropyGradient, CrossEntropyGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MakeTwoClass, MakeTwoClassOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MakeTwoClassGradient, MakeTwoClassGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MarginRankingCriterion, MarginRankingCriterionOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MarginRankingCriterionGradient,
                       MarginRankingCriterionGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CosineEmbeddingCriterion, CosineEmbeddingCriterionOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CosineEmbeddingCriterionGradient,
                       CosineEmbeddingCriterionGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PairWiseLoss, PairWiseLossOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PairWiseLossGradient, PairWiseLossGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LambdaRankNdcg, LambdaRankNdcgOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LambdaRankNdcgGradient, LambdaRankNdcgGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(HSoftmax, HSoftmaxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(HSoftmaxGradient, HSoftmaxGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
