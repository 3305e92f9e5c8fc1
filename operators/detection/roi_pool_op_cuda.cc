// RoIPool, RoIPoolF and their gradients on CUDA devices. Gradients are collected by the pixels that
// get it, in a fixed order: no atomics.
#include "operators/common/host_device_cuda.h"
#include "operators/detection/regions_cuda.h"
#include "operators/detection/roi_pool_op.h"

namespace caffe2 {

static void ScatterMaxima(const PoolGrid& grid, int64_t count, const PooledRegion* regions,
                          int64_t n, const int* argmax, const float* dy, float* dx,
                          CUDAContext* context) {
  ForEach(n, RoIPoolGradientPixels{grid, count, regions, argmax, dy, dx}, context);
}

REGISTER_CUDA_OPERATOR(RoIPool, RoIPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RoIPoolGradient, RoIPoolGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RoIPoolF, RoIPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RoIPoolFGradient, RoIPoolGradientOp<CUDAContext>);

}  // namespace caffe2
