// UpsampleBilinear, SpaceToBatch, BatchToSpace, RoIAlign, RoIAlignRotated and RoIPool on CUDA
// devices. Gradients are collected by the pixels that get them, in a fixed order: no atomics.
#include <algorithm>

#include "operators/host_list.h"
#include "operators/portable_cuda.h"
#include "operators/roi_align_op.h"
#include "operators/roi_pool_op.h"
#include "operators/sort_keys.h"
#include "operators/space_to_batch_op.h"
#include "operators/turned_region_functions.h"
#include "operators/upsample_bilinear_op.h"

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

bool IsTurned(const RegionGrid& region) {
  return region.frame.sine != 0 || region.frame.cosine != 1;
}

}  // namespace

static const PooledRegion* RegionsFor(const std::vector<PooledRegion>& regions, Tensor* storage,
                                      CUDAContext* context) {
  return ListFor(regions, storage, context);
}

static void SpreadMaxima(const PoolGrid& grid, const std::vector<PooledRegion>& regions, int64_t n,
                         const int* argmax, const float* dy, float* dx, CUDAContext* context) {
  Tensor storage(CPU);
  ForEach(n,
          RoIPoolGradientPixels{grid, static_cast<int64_t>(regions.size()),
                                ListFor(regions, &storage, context), argmax, dy, dx},
          context);
}

static void AlignRegions(const ImageLayout& in, const ImageLayout& out,
                         const std::vector<RegionGrid>& regions, const float* x, float* y,
                         CUDAContext* context) {
  Tensor storage(CPU);
  ForEach(out.batch * out.channels * out.height * out.width,
          RoIAlignCells{in, out, ListFor(regions, &storage, context), x, y}, context);
}

static void SpreadRegions(const ImageLayout& in, const ImageLayout& out,
                          const std::vector<RegionGrid>& regions, const float* dy, float* dx,
                          CUDAContext* context) {
  if (std::any_of(regions.begin(), regions.end(), IsTurned)) {
    return SpreadTurned(in, out, regions, dy, dx, context);
  }
  Tensor storage(CPU);
  ForEach(in.batch * in.channels * in.height * in.width,
          RoIAlignGradientPixels{in, out, static_cast<int64_t>(regions.size()),
                                 ListFor(regions, &storage, context), dy, dx},
          context);
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
