// Slice, Tile, ChannelShuffle, Im2Col, one-hot and sparse columns on CUDA devices: elements that
// change places, or mark them.
#include "operators/common/portable_cuda.h"
#include "operators/common/row_copier_cuda.h"
#include "operators/conv/im2col_op.h"
#include "operators/image/channel_shuffle_op.h"
#include "operators/sequence/padding_functions.h"
#include "operators/shape/numpy_tile_op.h"
#include "operators/shape/slice_op.h"
#include "operators/shape/tile_op.h"
#include "operators/shape/transpose_kernels.h"
#include "operators/sparse/batch_sparse_to_dense_op.h"
#include "operators/sparse/one_hot_op.h"
#include "operators/sparse/sparse_to_dense_mask_op.h"

namespace caffe2 {
namespace {

void CheckPlain(TypeMeta meta) {
  CAFFE_ENFORCE(meta.copy() == nullptr, "elements of type ", meta.name(),
                " exist in host memory only");
}

// Where the elements of a box lie in its tensor, from the first of them on.
Permutation StridesOfBox(const std::vector<int64_t>& dims, const TensorBox& box) {
  Permutation strides;
  strides.dims = static_cast<int>(dims.size());
  CAFFE_ENFORCE_LE(strides.dims, Permutation::kMaxDims, "too many dimensions to slice");
  int64_t stride = 1;
  for (int d = strides.dims - 1; d >= 0; --d) {
    strides.size[d] = box.size[d];
    strides.stride[d] = stride;
    stride *= dims[d];
  }
  return strides;
}
size_t FirstByteOfBox(const Permutation& strides, const TensorBox& box, size_t itemsize) {
  int64_t first = 0;
  for (int d = 0; d < strides.dims; ++d) first += box.start[d] * strides.stride[d];
  return first * itemsize;
}

}  // namespace

template <>
void TakeBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* x,
             void* y, CUDAContext* context) {
  CheckPlain(meta);
  const Permutation strides = StridesOfBox(dims, box);
  LaunchPermute(strides, CheckedNumel(box.size), meta.itemsize(),
                static_cast<const char*>(x) + FirstByteOfBox(strides, box, meta.itemsize()), y,
                context->stream());
}
template <>
void PutBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* y,
            void* x, CUDAContext* context) {
  CheckPlain(meta);
  const Permutation strides = StridesOfBox(dims, box);
  LaunchPutPermuted(strides, CheckedNumel(box.size), meta.itemsize(), y,
                    static_cast<char*>(x) + FirstByteOfBox(strides, box, meta.itemsize()),
                    context->stream());
}
template <>
void RepeatRuns(TypeMeta meta, int64_t outer, int64_t tiles, int64_t run, const void* x, void* y,
                CUDAContext* context) {
  CheckPlain(meta);
  LaunchPermute({.dims = 3, .size = {outer, tiles, run}, .stride = {run, 0, 1}},
                outer * tiles * run, meta.itemsize(), x, y, context->stream());
}

template <>
void TransposeRuns(int64_t batch, int64_t rows, int64_t columns, int64_t run, size_t itemsize,
                   const void* x, void* y, CUDAContext* context) {
  LaunchPermute({.dims = 4,
                 .size = {batch, columns, rows, run},
                 .stride = {rows * columns * run, run, columns * run, 1}},
                batch * rows * columns * run, itemsize, x, y, context->stream());
}

template <typename Word>
static void PickWords(const std::vector<int64_t>& source, int64_t width, const void* x,
                      const void* fallback, void* y, CUDAContext* context) {
  Tensor list(CPU);
  const auto* pad = static_cast<const Word*>(fallback);
  ForEachRow(static_cast<int64_t>(source.size()), width,
             PadRows<Word>{width, ListFor(source, &list, context), static_cast<const Word*>(x), pad,
                           pad, static_cast<Word*>(y)},
             context);
}
static void PickRows(TypeMeta meta, const std::vector<int64_t>& source, int64_t width,
                     const void* x, const void* fallback, void* y, CUDAContext* context) {
  CheckPlain(meta);
  switch (meta.itemsize()) {
    case 1:
      return PickWords<uint8_t>(source, width, x, fallback, y, context);
    case 2:
      return PickWords<uint16_t>(source, width, x, fallback, y, context);
    case 4:
      return PickWords<uint32_t>(source, width, x, fallback, y, context);
    default:
      CAFFE_ENFORCE_EQ(meta.itemsize(), sizeof(uint64_t), "bytes of a ", meta.name());
      return PickWords<uint64_t>(source, width, x, fallback, y, context);
  }
}

namespace {

using ChannelShuffle = ChannelShuffleOp<CUDAContext, false>;
using ChannelShuffleGradient = ChannelShuffleOp<CUDAContext, true>;

REGISTER_CUDA_OPERATOR(Slice, SliceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SliceGradient, SliceGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Tile, TileOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(TileGradient, TileGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ChannelShuffle, ChannelShuffle);
REGISTER_CUDA_OPERATOR(ChannelShuffleGradient, ChannelShuffleGradient);
REGISTER_CUDA_OPERATOR(Im2Col, Im2ColOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Col2Im, Col2ImOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(OneHot, OneHotOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SegmentOneHot, SegmentOneHotOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchOneHot, BatchOneHotOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchBucketOneHot, BatchBucketOneHotOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Bucketize, BucketizeOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchBucketize, BatchBucketizeOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchSparseToDense, BatchSparseToDenseOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchDenseToSparse, BatchDenseToSparseOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseToDenseMask, SparseToDenseMaskOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseToDenseMaskGradient, SparseToDenseMaskGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NumpyTile, NumpyTileOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
