// Kernels of Im2Col, of locally connected layers and of convolutions of few channels.
#include "operators/common/host_device_kernel.h"
#include "operators/conv/few_channels_functions.h"
#include "operators/conv/im2col_functions.h"
#include "operators/conv/local_functions.h"
#include "operators/conv/padded_images_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(ColumnElements);
INSTANTIATE_FOR_EACH(ColumnSums);
INSTANTIATE_FOR_EACH(LocalProducts);
INSTANTIATE_FOR_EACH(LocalFilterGradient);
INSTANTIATE_FOR_EACH(LocalBiasGradient);
INSTANTIATE_FOR_EACH(LocalInputGradient);
INSTANTIATE_FOR_EACH(PatchesOfImage);
INSTANTIATE_FOR_EACH(FilterToPatches);
INSTANTIATE_FOR_EACH(FilterOfPatches);
INSTANTIATE_FOR_EACH(CopyFromPadded);
INSTANTIATE_FOR_EACH(CopyIntoPadded);

}  // namespace caffe2
