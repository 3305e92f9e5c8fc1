// UpsampleBilinear, SpaceToBatch, BatchToSpace, RoIAlign, RoIAlignRotated and RoIPool on CUDA
// devices. Gradients are collected by the pixels that get them, in a fixed order: no atomics.
#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/kernel_reports.h"
#include "operators/common/host_list.h"
#include "operators/common/portable_cuda.h"
#include "operators/common/sort_keys.h"
#include "operators/detection/region_kernels.h"
#include "operators/detection/roi_align_op.h"
#include "operators/detection/roi_pool_op.h"
#include "operators/detection/turned_region_functions.h"
#include "operators/image/space_to_batch_op.h"
#include "operators/image/upsample_bilinear_op.h"

namespace caffe2 {
namespace {

// The gradient of turned regions: the corners of their samples are sorted by pixels.
void SpreadTurned(const ImageLayout& in, const ImageLayout& out,
                  const std::vector<RegionGrid>& regions, const float* dy, float* dx,
                  CUDAContext* context) {
  ClearBytes(in.batch * in.image_size() * sizeof(float), dx, context);
  std::vector<int64_t> starts{0};
  for (const RegionGrid& region : regions) {
    starts.push_back(starts.back() + region.rows * region.columns * region.per_cell() * 4);
  }
  const int64_t n = starts.back(), size = SortedKeysSize(n);
  constexpr auto kMost = static_cast<int64_t>(SortedRows::kNoRow);
  CAFFE_ENFORCE(n < kMost && in.batch * in.area() <= kMost, n, " samples of ", in.batch * in.area(),
                " pixels are too many");
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

// Regions in memory of the device, where kernels have read them; those of the host were read there.
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

// `rois` on the device, a copy in `storage` if they lie elsewhere.
const float* OnDevice(const Tensor& rois, Tensor* storage, CUDAContext* context) {
  if (rois.device() == context->device()) return rois.data<float>();
  *storage = Tensor(context->device());
  storage->CopyFrom(rois);
  return storage->data<float>();
}

DeviceRegions<RegionGrid> ReadRegions(const RegionReader& reader, const ImageLayout& in,
                                      const Tensor& rois, CUDAContext* context) {
  Tensor storage(CPU);
  DeviceRegions<RegionGrid> regions(rois.size(0), context);
  LaunchReadRegions(rois.size(0), reader.ParserOf(in, rois), OnDevice(rois, &storage, context),
                    regions.data(), context->report(), context->stream());
  return regions;
}

void ThrowRegionReport(const cuda::KernelReport& report) {
  ThrowRegion(report.label, report.row, report.value, report.classes);
}
const bool kRegistered = [] {
  cuda::RegisterReport(cuda::kRegionReport, ThrowRegionReport);
  return true;
}();

}  // namespace

static DeviceRegions<PooledRegion> RegionsFor(const Tensor& rois, int64_t images, float scale,
                                              CUDAContext* context) {
  Tensor storage(CPU);
  DeviceRegions<PooledRegion> regions(rois.size(0), context);
  LaunchReadRegions(rois.size(0), images, scale, OnDevice(rois, &storage, context), regions.data(),
                    context->report(), context->stream());
  return regions;
}

static void SpreadMaxima(const PoolGrid& grid, int64_t count, const PooledRegion* regions,
                         int64_t n, const int* argmax, const float* dy, float* dx,
                         CUDAContext* context) {
  ForEach(n, RoIPoolGradientPixels{grid, count, regions, argmax, dy, dx}, context);
}

static void AlignRegions(const RegionReader& reader, const ImageLayout& in, const ImageLayout& out,
                         const Tensor& rois, const float* x, float* y, CUDAContext* context) {
  const auto regions = ReadRegions(reader, in, rois, context);
  ForEach(out.batch * out.channels * out.height * out.width,
          RoIAlignCells{in, out, regions.data(), x, y}, context);
}

static void SpreadRegions(const RegionReader& reader, const ImageLayout& in, const ImageLayout& out,
                          const Tensor& rois, const float* dy, float* dx, CUDAContext* context) {
  if (reader.rotated()) {
    // How many samples there are has to be known.
    Tensor copy(CPU);
    return SpreadTurned(in, out, reader.Read(in, OnHost(rois, &copy)), dy, dx, context);
  }
  const auto regions = ReadRegions(reader, in, rois, context);
  ForEach(in.batch * in.channels * in.height * in.width,
          RoIAlignGradientPixels{in, out, rois.size(0), regions.data(), dy, dx}, context);
}

namespace {

template <bool kRotated>
using CudaRoIAlignOp = RoIAlignOp<CUDAContext, kRotated>;
using CudaSpaceToBatchOp = SpaceBatchOp<CUDAContext, false>;
using CudaBatchToSpaceOp = SpaceBatchOp<CUDAContext, true>;
template <bool kRotated>
using CudaRoIAlignGradientOp = RoIAlignGradientOp<CUDAContext, kRotated>;

REGISTER_CUDA_OPERATOR(UpsampleBilinear, UpsampleBilinearOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UpsampleBilinearGradient, UpsampleBilinearGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SpaceToBatch, CudaSpaceToBatchOp);
REGISTER_CUDA_OPERATOR(BatchToSpace, CudaBatchToSpaceOp);
REGISTER_CUDA_OPERATOR(RoIAlign, CudaRoIAlignOp<false>);
REGISTER_CUDA_OPERATOR(RoIAlignRotated, CudaRoIAlignOp<true>);
REGISTER_CUDA_OPERATOR(RoIAlignGradient, CudaRoIAlignGradientOp<false>);
REGISTER_CUDA_OPERATOR(RoIAlignRotatedGradient, CudaRoIAlignGradientOp<true>);
REGISTER_CUDA_OPERATOR(RoIPool, RoIPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RoIPoolGradient, RoIPoolGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
