// Regions of interest in memory of CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/detection/region_kernels.h"

namespace caffe2 {

// Uninitialized memory for n regions on the device of the context; kernels fill it.
template <typename Region>
class DeviceRegions {
 public:
  DeviceRegions(int64_t n, CUDAContext* context) : storage_(context->device()) {
    storage_.Resize(n * static_cast<int64_t>(sizeof(Region)));
    storage_.mutable_data<uint8_t>();
  }
  Region* data() { return reinterpret_cast<Region*>(storage_.mutable_data<uint8_t>()); }
  const Region* data() const { return reinterpret_cast<const Region*>(storage_.raw_data()); }

 private:
  Tensor storage_;
};

// `rois` on the device: the tensor itself, or a copy in `storage` if it is elsewhere.
inline const float* OnDevice(const Tensor& rois, Tensor* storage, CUDAContext* context) {
  if (rois.device() == context->device()) return rois.data<float>();
  *storage = Tensor(context->device());
  storage->CopyFrom(rois);
  return storage->data<float>();
}

// As on the host (regions.h), but kernels read the regions, and report wrong ones.
template <class Region>
DeviceRegions<Region> RegionsFor(const Tensor& rois, int64_t images, float scale,
                                 CUDAContext* context) {
  Tensor storage(CPU);
  DeviceRegions<Region> regions(rois.size(0), context);
  LaunchReadRegions(rois.size(0), images, scale, OnDevice(rois, &storage, context), regions.data(),
                    context->report(), context->stream());
  return regions;
}

}  // namespace caffe2
