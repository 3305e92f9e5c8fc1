// ChannelShuffle and its gradient on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/image/channel_shuffle_op.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {

template <>
void TransposeRuns(int64_t batch, int64_t rows, int64_t columns, int64_t run, size_t itemsize,
                   const void* x, void* y, CUDAContext* context) {
  LaunchPermute({.dims = 4,
                 .size = {batch, columns, rows, run},
                 .stride = {rows * columns * run, run, columns * run, 1}},
                batch * rows * columns * run, itemsize, x, y, context->stream());
}

REGISTER_CUDA_OPERATOR(ChannelShuffle, ChannelShuffleOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(ChannelShuffleGradient, ChannelShuffleOp<CUDAContext, true>);

}  // namespace caffe2
