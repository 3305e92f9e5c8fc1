// RoIAlign and RoIAlignRotated with their gradients on CUDA devices. Gradients are collected by the
// pixels that get them, in a fixed order: no atomics.
#include "caffe2/core/device_backend.h"
#include "operators/common/host_device_cuda.h"
#include "operators/common/host_list.h"
#include "operators/common/sort_keys.h"
#include "operators/detection/region_kernels.h"
#include "operators/detection/regions_cuda.h"
#include "operators/detection/roi_align_op.h"
#include "operators/detection/rotated_roi_functions.h"

namespace caffe2 {
namespace {

// The gradient of rotated regions: sorts the corners of their samples by pixel.
void SpreadRotated(const ImageLayout& in, const ImageLayout& out,
                   const std::vector<RegionGrid>& regions, const float* dy, float* dx,
                   CUDAContext* context) {
  ClearBytes(in.batch * in.image_size() * sizeof(float), dx, context);
  std::vector<int64_t> starts{0};
  for (const RegionGrid& region : regions) {
    starts.push_back(starts.back() + region.rows * region.columns * region.per_cell() * 4);
  }
  const int64_t n = starts.back(), size = SortedKeysSize(n);
  constexpr auto kMaxRows = static_cast<int64_t>(SortedRows::kNoRow);
  CAFFE_ENFORCE(n < kMaxRows && in.batch * in.area() <= kMaxRows, n, " samples of ",
                in.batch * in.area(), " pixels are too many");
  Tensor region_list(CPU), start_list(CPU), weights(context->device()), places(context->device());
  weights.Resize(n);
  places.Resize(n + size);  // sources and keys
  const SampleCorners corners{weights.mutable_data<float>(), places.mutable_data<int64_t>()};
  auto* keys = reinterpret_cast<uint64_t*>(corners.sources + n);
  ForEach(size,
          SampleKeys{in, out, static_cast<int64_t>(regions.size()),
                     ListFor(regions, &region_list, context), ListFor(starts, &start_list, context),
                     corners, keys},
          context);
  LaunchSortKeys(1, size, keys, context->stream());
  ForEachRow(n, in.channels, SumSamples{in, out, {n, keys}, corners, dy, dx}, context);
}

DeviceRegions<RegionGrid> ReadRegions(const RegionReader& reader, const ImageLayout& in,
                                      const Tensor& rois, CUDAContext* context) {
  Tensor storage(CPU);
  DeviceRegions<RegionGrid> regions(rois.size(0), context);
  LaunchReadRegions(rois.size(0), reader.ParserOf(in, rois), OnDevice(rois, &storage, context),
                    regions.data(), context->report(), context->stream());
  return regions;
}

}  // namespace

static void AlignRegions(const RegionReader& reader, const ImageLayout& in, const ImageLayout& out,
                         const Tensor& rois, const float* x, float* y, CUDAContext* context) {
  const auto regions = ReadRegions(reader, in, rois, context);
  ForEach(out.batch * out.channels * out.height * out.width,
          RoIAlignCells{in, out, regions.data(), x, y}, context);
}

static void ScatterRegions(const RegionReader& reader, const ImageLayout& in,
                           const ImageLayout& out, const Tensor& rois, const float* dy, float* dx,
                           CUDAContext* context) {
  if (reader.rotated()) {
    // The host must know the number of samples.
    Tensor copy(CPU);
    return SpreadRotated(in, out, reader.Read(in, OnHost(rois, &copy)), dy, dx, context);
  }
  const auto regions = ReadRegions(reader, in, rois, context);
  ForEach(in.batch * in.channels * in.height * in.width,
          RoIAlignGradientPixels{in, out, rois.size(0), regions.data(), dy, dx}, context);
}

REGISTER_CUDA_OPERATOR(RoIAlign, RoIAlignOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(RoIAlignGradient, RoIAlignGradientOp<CUDAContext, false>);
REGISTER_CUDA_OPERATOR(RoIAlignRotated, RoIAlignOp<CUDAContext, true>);
REGISTER_CUDA_OPERATOR(RoIAlignRotatedGradient, RoIAlignGradientOp<CUDAContext, true>);

}  // namespace caffe2
