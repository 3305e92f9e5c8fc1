// Kernels of FC_Prune, FC_Sparse and TT, besides dense products.
#include "operators/common/host_device_kernel.h"
#include "operators/matmul/fully_connected_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(SparseProducts);
INSTANTIATE_FOR_EACH(AddBias);
INSTANTIATE_FOR_EACH_ROW(ShareLeft);
INSTANTIATE_FOR_EACH(MaskGradient);
INSTANTIATE_FOR_EACH(AddGradient);
INSTANTIATE_FOR_EACH(PruneWeights);

}  // namespace caffe2
