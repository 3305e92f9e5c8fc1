// Kernels of SequenceMask, YellowFin, LearningRateAdaption and the gradient of WeightedSum.
#include "operators/portable_kernel.h"
#include "operators/product_functions.h"
#include "operators/sequence_mask_functions.h"
#include "operators/yellowfin_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_REAL(MaskElements);
INSTANTIATE_FOR_EACH(YellowFinElements);
INSTANTIATE_FOR_EACH(YellowFinTune);
INSTANTIATE_FOR_EACH(AdaptRate);
INSTANTIATE_MAP(TimesRate, float);
template void LaunchMap(const Product&, int64_t, cuda::Stream, float*, const float*, const float*);

}  // namespace caffe2
