// Kernels of losses that are no softmax.
#include "operators/common/portable_kernel.h"
#include "operators/loss/h_softmax_functions.h"
#include "operators/loss/loss_functions.h"
#include "operators/loss/ranking_loss_functions.h"
#include "operators/loss/sigmoid_loss_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_ROW_REAL(SigmoidLossRows);
INSTANTIATE_FOR_EACH_REAL(SigmoidLossGradient);
INSTANTIATE_FOR_EACH_ROW_REAL(CrossEntropyRows);
INSTANTIATE_FOR_EACH_REAL(CrossEntropyGradient);
INSTANTIATE_FOR_EACH_REAL(MakeTwoClass);
INSTANTIATE_FOR_EACH_REAL(MakeTwoClassGradient);
INSTANTIATE_FOR_EACH_REAL(MarginRanking);
INSTANTIATE_FOR_EACH_REAL(MarginRankingGradient);
INSTANTIATE_FOR_EACH_REAL(CosineEmbedding);
INSTANTIATE_FOR_EACH_REAL(CosineEmbeddingGradient);
INSTANTIATE_FOR_EACH_ROW(PairLossRows);
INSTANTIATE_FOR_EACH_ROW(PairLossGradientRows);
INSTANTIATE_FOR_EACH_ROW(LambdaRankRows<float>);
INSTANTIATE_FOR_EACH_ROW(ScaleLists);
INSTANTIATE_FOR_EACH_ROW(SoftmaxOfSteps);
INSTANTIATE_FOR_EACH(LossOfPaths);
INSTANTIATE_FOR_EACH(SlopesOfSteps);
INSTANTIATE_FOR_EACH_ROW(GradientOfSamples);
INSTANTIATE_FOR_EACH_ROW(GradientOfRows);

}  // namespace caffe2
