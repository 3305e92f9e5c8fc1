// Kernels of losses without a softmax, and of distances between rows.
#include "operators/common/host_device_kernel.h"
#include "operators/loss/bernoulli_jsd_op.h"
#include "operators/loss/distance_functions.h"
#include "operators/loss/h_softmax_functions.h"
#include "operators/loss/loss_functions.h"
#include "operators/loss/padded_product_functions.h"
#include "operators/loss/ranking_loss_functions.h"
#include "operators/loss/sigmoid_loss_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_ROW_REAL(SigmoidLossRows);
INSTANTIATE_FOR_EACH_ROW_REAL(SigmoidLossGradientRows);
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
INSTANTIATE_FOR_EACH(NarrowLabels);
INSTANTIATE_FOR_EACH(LossOfPaths);
INSTANTIATE_FOR_EACH(GradientOfLogits);
INSTANTIATE_FOR_EACH_ROW(GradientOfSamples);
INSTANTIATE_FOR_EACH_ROW(GradientOfRows);

INSTANTIATE_FOR_EACH_ROW(PaddedProductRows);
INSTANTIATE_FOR_EACH_ROW(PaddedProductGradientRows);
INSTANTIATE_MAP_2(BernoulliDivergence, float);
INSTANTIATE_MAP_3(host_device::GradientOf<BernoulliDivergence>, float);

#define INSTANTIATE(type, T)                      \
  INSTANTIATE_FOR_EACH_ROW(MeasureRows<type, T>); \
  INSTANTIATE_FOR_EACH_ROW(MeasureGradientRows<type, T>)
#define INSTANTIATE_MEASURE(type) \
  INSTANTIATE(type, float);       \
  INSTANTIATE(type, float16);     \
  INSTANTIATE(type, bfloat16)

INSTANTIATE_MEASURE(SquaredL2Distance);
INSTANTIATE_MEASURE(L1Distance);
INSTANTIATE_MEASURE(DotProduct);
INSTANTIATE_MEASURE(CosineSimilarity);

template <typename T>
using NormalizeL2 = NormalizeVectors<L2Norm, T>;
template <typename T>
using NormalizeL1 = NormalizeVectors<L1Norm, T>;
INSTANTIATE_FOR_EACH_ROW_REAL(NormalizeL2);
INSTANTIATE_FOR_EACH_ROW_REAL(NormalizeL1);
INSTANTIATE_FOR_EACH_ROW_REAL(NormalizeVectorsGradient);

}  // namespace caffe2
