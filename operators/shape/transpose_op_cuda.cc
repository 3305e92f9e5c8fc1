// Transpose, NCHW2NHWC and NHWC2NCHW on CUDA devices, and Concat and Split.
#include <algorithm>
#include <limits>

#include "caffe2/cuda/context_cuda.h"
#include "operators/shape/concat_split.h"
#include "operators/shape/order_switch_op.h"
#include "operators/shape/transpose_kernels.h"
#include "operators/shape/transpose_op.h"

namespace caffe2 {

// Bytes from a row to the next: a copy of rows takes no more on any device (memPitch in
// cudaDeviceProp).
constexpr int64_t kMostPitch = std::numeric_limits<int32_t>::max();

// Runs of a slab in one copy; those that lie farther apart are few.
template <>
void CopySlab(TypeMeta meta, int64_t outer, int64_t run, const void* source, int64_t source_stride,
              void* destination, int64_t destination_stride, CUDAContext* context) {
  CAFFE_ENFORCE(meta.copy() == nullptr, "elements of type ", meta.name(),
                " exist in host memory only");
  if (outer == 0 || run == 0) return;
  const auto size = static_cast<int64_t>(meta.itemsize());
  const int64_t from_pitch = source_stride * size, to_pitch = destination_stride * size;
  if (outer > 1 && std::max(from_pitch, to_pitch) <= kMostPitch) {
    cuda::CopyRowsAsync(destination, to_pitch, source, from_pitch, run * size, outer,
                        context->stream());
    return;
  }
  for (int64_t i = 0; i < outer; ++i) {
    context->CopyBytes(run * size, static_cast<const char*>(source) + i * from_pitch,
                       static_cast<char*>(destination) + i * to_pitch);
  }
}

template <>
void TransposeOp<CUDAContext>::Permute(const std::vector<int64_t>& dims,
                                       const std::vector<int>& axes, size_t itemsize, const void* x,
                                       void* y) {
  const auto n = static_cast<int>(dims.size());
  CAFFE_ENFORCE_LE(n, Permutation::kMaxDims, "too many dimensions to transpose");
  const int64_t numel = CheckedNumel(dims);
  if (numel == 0) return;
  // The last two dimensions swapped: the common case, and the fast one.
  bool matrices = n >= 2 && axes.back() == n - 2;
  for (int i = 0; i + 2 < n; ++i) matrices = matrices && axes[i] == i;
  if (matrices) {
    const int64_t rows = dims[n - 2], columns = dims[n - 1];
    LaunchTransposeMatrices(numel / (rows * columns), rows, columns, itemsize, x, y,
                            context_.stream());
    return;
  }
  Permutation permutation;
  permutation.dims = n;
  for (int i = 0; i < n; ++i) {
    permutation.size[i] = dims[axes[i]];
    permutation.stride[i] = CheckedNumel(dims.data() + axes[i] + 1, n - axes[i] - 1);
  }
  LaunchPermute(permutation, numel, itemsize, x, y, context_.stream());
}

static void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                              const void* from, void* to, CUDAContext* context) {
  LaunchTransposeMatrices(batch, rows, columns, element_bytes, from, to, context->stream());
}

namespace {

using NCHW2NHWC = OrderSwitchOp<CUDAContext, StorageOrder::kNCHW>;
using NHWC2NCHW = OrderSwitchOp<CUDAContext, StorageOrder::kNHWC>;

REGISTER_CUDA_OPERATOR(Transpose, TransposeOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(NCHW2NHWC, NCHW2NHWC);
REGISTER_CUDA_OPERATOR(NHWC2NCHW, NHWC2NCHW);
REGISTER_CUDA_OPERATOR(Concat, ConcatOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DepthConcat, ConcatOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Split, SplitOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DepthSplit, SplitOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
