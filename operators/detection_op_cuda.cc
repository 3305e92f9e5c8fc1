// UpsampleBilinear, SpaceToBatch, BatchToSpace, RoIAlign, RoIAlignRotated and RoIPool on CUDA
// devices. Gradients are collected
// by the pixels that get them, in a fixed order: no atomics. Those of turned regions the host
// makes.
#include "operators/portable_cuda.h"
#include "operators/roi_align_op.h"
#include "operators/roi_pool_op.h"
#include "operators/space_to_batch_op.h"
#include "operators/upsample_bilinear_op.h"

namespace caffe2 {
namespace {

// The regions in device memory, which `storage` holds.
template <class Region>
const Region* CopyRegions(const std::vector<Region>& regions, Tensor* storage,
                          CUDAContext* context) {
  static_assert(sizeof(Region) % sizeof(int64_t) == 0);
  storage->Resize(static_cast<int64_t>(regions.size() * sizeof(Region) / sizeof(int64_t)));
  auto* copy = reinterpret_cast<Region*>(storage->mutable_data<int64_t>());
  context->Copy(regions.size(), regions.data(), copy);
  return copy;
}

}  // namespace

static const PooledRegion* RegionsFor(const std::vector<PooledRegion>& regions, Tensor* storage,
                                      CUDAContext* context) {
  return CopyRegions(regions, storage, context);
}

static void SpreadMaxima(const PoolGrid& grid, const std::vector<PooledRegion>& regions, int64_t n,
                         const int* argmax, const float* dy, float* dx, CUDAContext* context) {
  Tensor storage(context->device());
  ForEach(n,
          RoIPoolGradientPixels{grid, static_cast<int64_t>(regions.size()),
                                CopyRegions(regions, &storage, context), argmax, dy, dx},
          context);
}

static void AlignRegions(const ImageLayout& in, const ImageLayout& out,
                         const std::vector<RegionGrid>& regions, const float* x, float* y,
                         CUDAContext* context) {
  Tensor storage(context->device());
  ForEach(out.batch * out.channels * out.height * out.width,
          RoIAlignCells{in, out, CopyRegions(regions, &storage, context), x, y}, context);
}

static void SpreadRegions(const ImageLayout& in, const ImageLayout& out,
                          const std::vector<RegionGrid>& regions, const float* dy, float* dx,
                          CUDAContext* context) {
  Tensor storage(context->device());
  ForEach(in.batch * in.channels * in.height * in.width,
          RoIAlignGradientPixels{in, out, static_cast<int64_t>(regions.size()),
                                 CopyRegions(regions, &storage, context), dy, dx},
          context);
}

namespace {

template <bool kRotated>
using CudaRoIAlignOp = RoIAlignOp<CUDAContext, kRotated>;
using CudaSpaceToBatchOp = SpaceBatchOp<CUDAContext, false>;
using CudaBatchToSpaceOp = SpaceBatchOp<CUDAContext, true>;
using CudaRoIAlignGradientOp = RoIAlignGradientOp<CUDAContext, false>;

REGISTER_CUDA_OPERATOR(UpsampleBilinear, UpsampleBilinearOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UpsampleBilinearGradient, UpsampleBilinearGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SpaceToBatch, CudaSpaceToBatchOp);
REGISTER_CUDA_OPERATOR(BatchToSpace, CudaBatchToSpaceOp);
REGISTER_CUDA_OPERATOR(RoIAlign, CudaRoIAlignOp<false>);
REGISTER_CUDA_OPERATOR(RoIAlignRotated, CudaRoIAlignOp<true>);
REGISTER_CUDA_OPERATOR(RoIAlignGradient, CudaRoIAlignGradientOp);
REGISTER_CUDA_OPERATOR(RoIPool, RoIPoolOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RoIPoolGradient, RoIPoolGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
