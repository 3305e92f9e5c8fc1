// Regions of interest of pooling operators on the host. regions_cuda.h has the same for devices.
#pragma once

#include <vector>

#include "operators/detection/roi_align_op.h"
#include "operators/detection/roi_pool_functions.h"

namespace caffe2 {

// Throws EnforceNotMet unless X is N x C x H x W and the regions R x 5.
inline void CheckRegionShapes(const Tensor& X, const Tensor& rois) {
  CAFFE_ENFORCE(X.dim() == 4, "X must be N x C x H x W, found shape ", ShapeString(X.sizes()));
  CAFFE_ENFORCE(rois.dim() == 2 && rois.size(1) == 5, "RoIs must be R x 5, found shape ",
                ShapeString(rois.sizes()));
}

// Reads regions from a tensor R x 5. data() of the result is in the memory of the context's device.
// Throws EnforceNotMet for a wrong region (RegionProblem); the overload for CUDA reports it
// instead.
template <class Region>
std::vector<Region> RegionsFor(const Tensor& rois, int64_t images, float scale,
                               CPUContext* /*context*/) {
  std::vector<Region> regions(rois.size(0));
  for (int64_t r = 0; r < rois.size(0); ++r) {
    double value = 0;
    const RegionProblem problem =
        Region::Read(rois.data<float>() + r * 5, images, scale, &regions[r], &value);
    if (problem != kRegionFine) ThrowRegion(problem, r, value, images);
  }
  return regions;
}

}  // namespace caffe2
