// Kernels of SequenceMask, YellowFin, LearningRateAdaption, the gradient of WeightedSum, functions
// of elements with parameters, integral images, locally connected layers and those of FC_Prune and
// FC_Sparse.
#include "operators/common/portable_kernel.h"
#include "operators/conv/local_functions.h"
#include "operators/elementwise/piecewise_linear_functions.h"
#include "operators/elementwise/transform_functions.h"
#include "operators/image/integral_image_functions.h"
#include "operators/loss/padded_product_functions.h"
#include "operators/matmul/fully_connected_functions.h"
#include "operators/optimizer/yellowfin_functions.h"
#include "operators/reduce/product_functions.h"
#include "operators/sequence/sequence_mask_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_REAL(MaskElements);
INSTANTIATE_FOR_EACH(YellowFinElements);
INSTANTIATE_FOR_EACH(YellowFinTune);
INSTANTIATE_FOR_EACH(AdaptRate);
INSTANTIATE_MAP(TimesRate, float);
template void LaunchMap(const Product&, int64_t, cuda::Stream, float*, const float*, const float*);

INSTANTIATE_MAP(ModValue, int32_t);
INSTANTIATE_MAP(ModValue, int64_t);
INSTANTIATE_MAP(StumpValue, float);
INSTANTIATE_FOR_EACH(PiecewiseElements);
INSTANTIATE_FOR_EACH(PiecewiseEvents);
INSTANTIATE_FOR_EACH(BoxCoxElements<float>);
INSTANTIATE_FOR_EACH(BoxCoxElements<double>);
INSTANTIATE_FOR_EACH(RootDivideElements<float>);
INSTANTIATE_FOR_EACH(RootDivideElements<int32_t>);
INSTANTIATE_FOR_EACH(RootDivideElements<int64_t>);
template void LaunchMap(const BernoulliDivergence&, int64_t, cuda::Stream, float*, const float*,
                        const float*);
INSTANTIATE_MAP_3(BernoulliSlope, float);
INSTANTIATE_FOR_EACH(SinusoidElements<int32_t>);
INSTANTIATE_FOR_EACH(SinusoidElements<int64_t>);
INSTANTIATE_FOR_EACH_ROW(PaddedProductRows);
INSTANTIATE_FOR_EACH_ROW(PaddedProductGradientRows);
INSTANTIATE_FOR_EACH(IntegrateRows);
INSTANTIATE_FOR_EACH(GatherRowSums);
INSTANTIATE_FOR_EACH(SumDownColumns);
INSTANTIATE_FOR_EACH(LocalProducts);
INSTANTIATE_FOR_EACH(LocalFilterGradient);
INSTANTIATE_FOR_EACH(LocalBiasGradient);
INSTANTIATE_FOR_EACH(LocalInputGradient);
INSTANTIATE_FOR_EACH(SparseProducts);
INSTANTIATE_FOR_EACH(AddBias);
INSTANTIATE_FOR_EACH_ROW(ShareLeft);
INSTANTIATE_FOR_EACH(MaskGradient);
INSTANTIATE_FOR_EACH(AddGradient);
INSTANTIATE_FOR_EACH(PruneWeights);

}  // namespace caffe2
