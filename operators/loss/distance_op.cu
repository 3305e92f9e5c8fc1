// Kernels of distances between rows and of norms.
#include "operators/common/portable_kernel.h"
#include "operators/loss/distance_functions.h"

namespace caffe2 {

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
