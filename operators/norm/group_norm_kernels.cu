// Kernels of GroupNorm and RMSNorm.
#include "operators/common/host_device_kernel.h"
#include "operators/norm/group_norm_functions.h"
#include "operators/norm/rms_norm_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_ROW_REAL(ChannelDotRows);
INSTANTIATE_FOR_EACH_REAL(ChannelDotColumns);
INSTANTIATE_FOR_EACH(AddChannelDots);
INSTANTIATE_FOR_EACH(GroupMoments);
INSTANTIATE_FOR_EACH_ROW_REAL(GroupNormRows);
INSTANTIATE_FOR_EACH(GroupGradientMeans);
INSTANTIATE_FOR_EACH(GroupParameterGradients);
INSTANTIATE_FOR_EACH_ROW_REAL(GroupNormGradientRows);

INSTANTIATE_FOR_EACH_ROW_REAL(RmsNormRows);
INSTANTIATE_FOR_EACH_ROW(RmsNormRows<double>);
INSTANTIATE_FOR_EACH_ROW_REAL(RmsNormGradientRows);
INSTANTIATE_FOR_EACH_ROW(RmsNormGradientRows<double>);
INSTANTIATE_FOR_EACH_REAL(RmsNormPartialSums);
INSTANTIATE_FOR_EACH(RmsNormPartialSums<double>);
INSTANTIATE_FOR_EACH_REAL(RmsNormAddParts);
INSTANTIATE_FOR_EACH(RmsNormAddParts<double>);

}  // namespace caffe2
