// Kernels of regions of interest.
#include "caffe2/cuda/kernel_reports.h"
#include "operators/common/host_device_kernel.h"
#include "operators/detection/ps_roi_pool_functions.h"
#include "operators/detection/region_kernels.h"
#include "operators/detection/roi_align_functions.h"
#include "operators/detection/roi_pool_functions.h"
#include "operators/detection/rotated_roi_functions.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH(RoIAlignCells);
INSTANTIATE_FOR_EACH(RoIAlignGradientPixels);
INSTANTIATE_FOR_EACH(SampleKeys);
INSTANTIATE_FOR_EACH_ROW(SumSamples);
INSTANTIATE_FOR_EACH(RoIPoolCells);
INSTANTIATE_FOR_EACH(RoIPoolGradientPixels);
INSTANTIATE_FOR_EACH(PSRoIPoolCells);
INSTANTIATE_FOR_EACH(PSRoIPoolGradientPlanes);

void LaunchReadRegions(int64_t n, const RegionParser& parser, const float* rois,
                       RegionGrid* regions, cuda::KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("ReadRegions", n, stream, [=] __device__(int64_t r) {
    double value = 0;
    const RegionProblem problem = parser.Read(rois + r * parser.numbers(), regions + r, &value);
    if (problem != kRegionFine) {
      cuda::Report(report, cuda::kRegionReport, r, problem, parser.images, value);
    }
  });
}

template <class Region>
void LaunchReadRegions(int64_t n, int64_t images, float scale, const float* rois, Region* regions,
                       cuda::KernelReport* report, cuda::Stream stream) {
  cuda::ForEach("ReadPooledRegions", n, stream, [=] __device__(int64_t r) {
    double value = 0;
    const RegionProblem problem = Region::Read(rois + r * 5, images, scale, regions + r, &value);
    if (problem != kRegionFine) {
      cuda::Report(report, cuda::kRegionReport, r, problem, images, value);
    }
  });
}

#define INSTANTIATE_READ_REGIONS(Region)                                                  \
  template void LaunchReadRegions<Region>(int64_t, int64_t, float, const float*, Region*, \
                                          cuda::KernelReport*, cuda::Stream)
INSTANTIATE_READ_REGIONS(PooledRegion);
INSTANTIATE_READ_REGIONS(ScaledRegion);

}  // namespace caffe2
