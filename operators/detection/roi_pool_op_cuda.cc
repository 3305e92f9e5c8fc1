// RoIPool and its gradient on CUDA devices. The gradient is collected by the pixels that get it, in
// a fixed order: no atomics.
#include "operators/common/host_device_cuda.h"
#include "operators/detection/region_kernels.h"
#include "operators/detection/regions_cuda.h"
#include "operators/detection/roi_pool_op.h"

namespace caffe2 {

static DeviceRegions<PooledRegion> RegionsFor(const Tensor& rois, int64_t images, float scale,
                                              CUDAContext* context) {
  Tensor storage(CPU);
  DeviceRegions<PooledRegion> regions(rois.size(0), context);
  LaunchReadRegions(rois.size(0), images, scale, OnDevice(rois, &storage, context), regions.data(),
                    context->report(), context->stream());
  return regions;
}

static void ScatterMaxima(const PoolGrid& grid, int64_t count, const PooledRegion* regions,
                          int64_t n, const int* argmax, const float* dy, float* dx,
                          CUDAContext* context) {
  ForEach(n, RoIPoolGradientPixels{grid, count, regions, argmax, dy, dx}, context);
}

REGISTER_CUDA_OPERATOR(RoIPool, RoIPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RoIPoolGradient, RoIPoolGradientOp<CUDAContext>);

}  // namespace caffe2
