// Kernels of UpsampleBilinear, SpaceToBatch, BatchToSpace, RoIAlign and RoIPool.
#include "operators/portable_kernel.h"
#include "operators/roi_align_functions.h"
#include "operators/roi_pool_functions.h"
#include "operators/space_to_batch_functions.h"
#include "operators/turned_region_functions.h"
#include "operators/upsample_bilinear_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_ROW_REAL(BilinearRows);
INSTANTIATE_FOR_EACH_ROW_REAL(BilinearGradientRows);
INSTANTIATE_FOR_EACH_REAL(TakeApart);
INSTANTIATE_FOR_EACH_REAL(PutTogether);
INSTANTIATE_FOR_EACH(RoIAlignCells);
INSTANTIATE_FOR_EACH(RoIAlignGradientPixels);
INSTANTIATE_FOR_EACH(SampleKeys);
INSTANTIATE_FOR_EACH_ROW(SumSamples);
INSTANTIATE_FOR_EACH(RoIPoolCells);
INSTANTIATE_FOR_EACH(RoIPoolGradientPixels);

}  // namespace caffe2
