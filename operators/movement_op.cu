// Kernels of operators that move elements and sum where several came from one.
#include "operators/portable_kernel.h"
#include "operators/tile_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_REAL(SumTiles);

}  // namespace caffe2
