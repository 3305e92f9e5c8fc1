// NumpyTile on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/numpy_tile_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(NumpyTile, NumpyTileOp<CUDAContext>);

}  // namespace caffe2
