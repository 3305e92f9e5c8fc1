// ArgMax, ArgMin, TopK, FlexibleTopK, LengthsTopK and Find on CUDA devices.
#include "operators/common/checked_indices.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/conditional_op.h"
#include "operators/reduce/arg_op.h"
#include "operators/reduce/flexible_top_k_op.h"
#include "operators/reduce/selection_kernels.h"
#include "operators/reduce/top_k_op.h"
#include "operators/segment/lengths_top_k_op.h"

namespace caffe2 {

// LaunchTopK with the keys it needs.
template <typename T>
static void SelectTopK(int64_t lines, const LineLayout& layout, int64_t k, const T* x, T* values,
                       int64_t* indices, int64_t* flat, CUDAContext* context) {
  Tensor storage(context->device());
  uint64_t* keys = nullptr;
  if (const int64_t count = TopKKeys(lines, layout.n, k, sizeof(T)); count > 0) {
    storage.Resize(count);
    keys = reinterpret_cast<uint64_t*>(storage.mutable_data<int64_t>());
  }
  LaunchTopK(lines, layout, k, x, values, indices, flat, keys, context->stream());
}

template <>
template <typename T>
bool TopKOp<CUDAContext>::DoRunWithType() {
  const Tensor& x = Input(0);
  const T* x_data = x.data<T>();
  const TopKOutputs<T> out = PrepareOutputs<T>(x);
  SelectTopK(out.lines, out.layout, k_, x_data, out.values, out.indices, out.flat, &context_);
  return true;
}

template <>
template <typename T>
bool TopKGradientOp<CUDAContext>::DoRunWithType() {
  const Tensor &d_values = Input(0), &indices = Input(1);
  const LineLayout layout = CheckInputs();
  const T* dy = d_values.data<T>();
  const int64_t* index = indices.data<int64_t>();
  Tensor* dx = Output(0);
  dx->ResizeLike(Input(2));
  T* dx_data = dx->mutable_data<T>();
  if (dx->numel() > 0) cuda::SetBytesAsync(dx_data, 0, dx->nbytes(), context_.stream());
  LaunchPutTopK(d_values.numel(), PutTopK<T>{layout, k_, dy, index, dx_data}, context_.report(),
                context_.stream());
  return true;
}

// As many of each row as the one that most are asked of, of which the others keep the first.
static void TakeLargest(const Segments& counts, int64_t width, const float* x, float* values,
                        int64_t* indices, CUDAContext* context) {
  int64_t most = 0;
  for (int64_t r = 0; r < counts.count(); ++r) most = std::max(most, counts.length(r));
  Tensor sorted(context->device()), sorted_at(context->device()), list(CPU);
  sorted.Resize(counts.count(), most);
  sorted_at.Resize(counts.count(), most);
  auto* best = sorted.mutable_data<float>();
  auto* best_at = sorted_at.mutable_data<int64_t>();
  SelectTopK<float>(counts.count(), {.n = width}, most, x, best, best_at, nullptr, context);
  ForEachRow(
      counts.count(), most,
      KeepFirst{most, ListFor(counts.Offsets(), &list, context), best, best_at, values, indices},
      context);
}

static void TakeOfSegments(const Tensor& lengths, int64_t n, int64_t k, const float* x,
                           float* values, int32_t* indices, CUDAContext* context) {
  Tensor storage(context->device());
  const int64_t* offsets = SegmentOffsets(lengths, n, &storage, context);
  const int64_t segments = lengths.numel();
  LaunchTopKOfSegments(segments, segments == 0 ? 0 : n / segments, offsets, k, x, values, indices,
                       context->stream());
}

template <typename T>
static void FindLast(int64_t n, const T* values, int64_t queries, const T* query, T missing, T* y,
                     CUDAContext* context) {
  ForEachRow(queries, n, FindLastPosition<T>{n, values, query, missing, y}, context);
}

namespace {

using ArgMax = ArgOp<CUDAContext, true>;
using ArgMin = ArgOp<CUDAContext, false>;

REGISTER_CUDA_OPERATOR(ArgMax, ArgMax);
REGISTER_CUDA_OPERATOR(ArgMin, ArgMin);
REGISTER_CUDA_OPERATOR(TopK, TopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(TopKGradient, TopKGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FlexibleTopK, FlexibleTopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FlexibleTopKGradient, FlexibleTopKGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsTopK, LengthsTopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsTopKGradient, LengthsTopKGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Find, FindOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
