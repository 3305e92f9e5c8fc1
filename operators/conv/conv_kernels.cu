// Kernels of Im2Col and of locally connected layers.
#include "operators/common/host_device_kernel.h"
#include "operators/conv/im2col_functions.h"
#include "operators/conv/local_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(ColumnElements);
INSTANTIATE_FOR_EACH(ColumnSums);
INSTANTIATE_FOR_EACH(LocalProducts);
INSTANTIATE_FOR_EACH(LocalFilterGradient);
INSTANTIATE_FOR_EACH(LocalBiasGradient);
INSTANTIATE_FOR_EACH(LocalInputGradient);

}  // namespace caffe2
