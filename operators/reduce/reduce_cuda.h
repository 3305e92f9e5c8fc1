// Reductions over the dimensions of a plan on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/broadcast_strides.h"
#include "operators/reduce/reduce_kernels.h"

namespace caffe2 {

// y[j], j < results, is the reduction of the `count` elements of x that the plan maps to j. As on
// the host (reduce_op.h).
template <typename T>
void ReduceTo(Reduction reduction, const BroadcastPlan& plan, const T* x, int64_t results,
              int64_t count, T* y, CUDAContext* context) {
  Strides kept, summed;
  for (int d = 0; d < plan.dims; ++d) {
    Strides& space = plan.b_stride[d] != 0 ? kept : summed;
    space.size[space.dims] = plan.size[d];
    space.stride[0][space.dims++] = plan.a_stride[d];
  }
  LaunchReduce(reduction, kept, summed, results, count, x, y, context->stream());
}

// As on the host (sum_to.h).
template <typename T>
void SumTo(const BroadcastPlan& plan, const T* x, int64_t results, T* y, CUDAContext* context) {
  ReduceTo(Reduction::kSum, plan, x, results, results == 0 ? 0 : plan.numel / results, y, context);
}

}  // namespace caffe2
