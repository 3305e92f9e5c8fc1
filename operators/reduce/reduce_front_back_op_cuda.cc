// Reductions over the first or the last dimensions on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/reduce/reduce_front_back_op.h"
#include "operators/reduce/reduce_kernels.h"

namespace caffe2 {

static SideLayout LayoutOf(const ReduceSideLayout& layout, const int32_t* lengths) {
  return {layout.results, layout.count, layout.result_stride, layout.stride, lengths};
}

template <typename T>
void ReduceSideTo(Reduction reduction, const ReduceSideLayout& layout, const int32_t* lengths,
                  const T* x, T* y, CUDAContext* context) {
  LaunchReduceSide(reduction, LayoutOf(layout, lengths), x, y, context->stream());
}

template <typename T>
void ReduceSideGradientTo(Reduction reduction, const ReduceSideLayout& layout,
                          const int32_t* lengths, const T* dy, const T* x, const T* y, T* dx,
                          CUDAContext* context) {
  LaunchReduceSideGradient(reduction, LayoutOf(layout, lengths), dy, x, y, dx, context->stream());
}

#define REGISTER_CUDA_REDUCE_SIDE(name, side, kind)                                     \
  REGISTER_CUDA_OPERATOR(name, ReduceSideOp<CUDAContext, Side::side, Reduction::kind>); \
  REGISTER_CUDA_OPERATOR(name##Gradient,                                                \
                         ReduceSideGradientOp<CUDAContext, Side::side, Reduction::kind>)
REGISTER_CUDA_REDUCE_SIDE(ReduceFrontSum, kFront, kSum);
REGISTER_CUDA_REDUCE_SIDE(ReduceFrontMean, kFront, kMean);
REGISTER_CUDA_REDUCE_SIDE(ReduceFrontMax, kFront, kMax);
REGISTER_CUDA_REDUCE_SIDE(ReduceBackSum, kBack, kSum);
REGISTER_CUDA_REDUCE_SIDE(ReduceBackMean, kBack, kMean);
REGISTER_CUDA_REDUCE_SIDE(ReduceBackMax, kBack, kMax);

}  // namespace caffe2
