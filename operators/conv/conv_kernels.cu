// Kernels of Im2Col, of locally connected layers and of convolutions of few channels.
#include "operators/common/host_device_kernel.h"
#include "operators/conv/im2col_functions.h"
#include "operators/conv/local_functions.h"
#include "operators/conv/space_to_depth_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(ColumnElements);
INSTANTIATE_FOR_EACH(ColumnSums);
INSTANTIATE_FOR_EACH(LocalProducts);
INSTANTIATE_FOR_EACH(LocalFilterGradient);
INSTANTIATE_FOR_EACH(LocalBiasGradient);
INSTANTIATE_FOR_EACH(LocalInputGradient);
INSTANTIATE_FOR_EACH(BlocksOfImage<1, 1>);
INSTANTIATE_FOR_EACH(BlocksOfImage<3, 1>);
INSTANTIATE_FOR_EACH(BlocksOfImage<4, 1>);
INSTANTIATE_FOR_EACH(BlocksOfImage<1, 2>);
INSTANTIATE_FOR_EACH(BlocksOfImage<3, 2>);
INSTANTIATE_FOR_EACH(BlocksOfImage<4, 2>);
INSTANTIATE_FOR_EACH(BlocksOfFilter);
INSTANTIATE_FOR_EACH(FilterOfBlocks);

}  // namespace caffe2
