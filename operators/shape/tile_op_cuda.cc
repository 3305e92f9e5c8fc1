// Tile and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/shape/tile_op.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {

template <>
void RepeatRuns(TypeMeta meta, int64_t outer, int64_t tiles, int64_t run, const void* x, void* y,
                CUDAContext* context) {
  LaunchPermute({.dims = 3, .size = {outer, tiles, run}, .stride = {run, 0, 1}},
                outer * tiles * run, meta.itemsize(), x, y, context->stream());
}

REGISTER_CUDA_OPERATOR(Tile, TileOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(TileGradient, TileGradientOp<CUDAContext>);

}  // namespace caffe2
