// LengthsTopK and its gradient on CUDA devices.
#include "operators/common/checked_indices.h"
#include "operators/common/host_device_cuda.h"
#include "operators/reduce/selection_kernels.h"
#include "operators/segment/lengths_top_k_op.h"

namespace caffe2 {

static void TakeOfSegments(const Tensor& lengths, int64_t n, int64_t k, const float* x,
                           float* values, int32_t* indices, CUDAContext* context) {
  Tensor storage(context->device());
  const int64_t* offsets = SegmentOffsets(lengths, n, &storage, context);
  const int64_t segments = lengths.numel();
  LaunchTopKOfSegments(segments, segments == 0 ? 0 : n / segments, offsets, k, x, values, indices,
                       context->stream());
}

REGISTER_CUDA_OPERATOR(LengthsTopK, LengthsTopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsTopKGradient, LengthsTopKGradientOp<CUDAContext>);

}  // namespace caffe2
