// Kernels of functions of numbers of any floating-point type, and of gates.
#include "operators/activation/gated_functions.h"
#include "operators/common/portable_kernel.h"
#include "operators/elementwise/unary_functions.h"
#include "operators/pool/lp_pool_functions.h"

namespace caffe2 {

#define INSTANTIATE(T)                         \
  INSTANTIATE_MAP(PowValue, T);                \
  INSTANTIATE_MAP(ReplaceNaNValue, T);         \
  INSTANTIATE_MAP(GatedValue<SwishGate>, T);   \
  INSTANTIATE_MAP(GatedValue<MishGate>, T);    \
  INSTANTIATE_MAP_3(GatedSlope<SwishGate>, T); \
  INSTANTIATE_MAP_3(GatedSlope<MishGate>, T)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

INSTANTIATE_FOR_EACH(PowerOfElements);
INSTANTIATE_FOR_EACH(RootOfElements);
INSTANTIATE_FOR_EACH(SlopeOfNorms);
INSTANTIATE_FOR_EACH(SlopeOfPowers);
INSTANTIATE_MAP(LpNormSlope, float);
INSTANTIATE_FOR_EACH_ROW_REAL(GluRows);

}  // namespace caffe2
