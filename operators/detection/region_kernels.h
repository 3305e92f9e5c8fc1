// Reads regions of images on CUDA devices. Pointers are device memory.
#pragma once

#include "caffe2/cuda/runtime.h"
#include "operators/detection/ps_roi_pool_functions.h"

namespace caffe2 {

// Reads regions[r] from row r of rois, n rows. A wrong region is reported (kernel_reports.h, by
// RegionProblem) and replaced by a valid one.
void LaunchReadRegions(int64_t n, const RegionParser& parser, const float* rois,
                       RegionGrid* regions, cuda::KernelReport* report, cuda::Stream stream);
// Region: PooledRegion, ScaledRegion.
template <class Region>
void LaunchReadRegions(int64_t n, int64_t images, float scale, const float* rois, Region* regions,
                       cuda::KernelReport* report, cuda::Stream stream);

}  // namespace caffe2
