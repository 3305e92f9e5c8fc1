// Kernels of products of all elements (YellowFin, LearningRateAdaption), and of functions of
// elements with parameters.
#include "operators/common/host_device_kernel.h"
#include "operators/elementwise/piecewise_linear_functions.h"
#include "operators/elementwise/transform_functions.h"
#include "operators/optimizer/yellowfin_functions.h"
#include "operators/reduce/product_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(YellowFinElements);
INSTANTIATE_FOR_EACH(YellowFinTune);
INSTANTIATE_FOR_EACH(AdaptRate);
INSTANTIATE_MAP(TimesRate, float);
template void LaunchMap(const Product&, int64_t, cuda::Stream, float*, const float*, const float*);

INSTANTIATE_FOR_EACH(PiecewiseElements);
INSTANTIATE_FOR_EACH(PiecewiseEvents);
INSTANTIATE_FOR_EACH(BoxCoxElements<float>);
INSTANTIATE_FOR_EACH(BoxCoxElements<double>);
INSTANTIATE_FOR_EACH(RootDivideElements<float>);
INSTANTIATE_FOR_EACH(RootDivideElements<int32_t>);
INSTANTIATE_FOR_EACH(RootDivideElements<int64_t>);
INSTANTIATE_FOR_EACH(SinusoidElements<int32_t>);
INSTANTIATE_FOR_EACH(SinusoidElements<int64_t>);

}  // namespace caffe2
