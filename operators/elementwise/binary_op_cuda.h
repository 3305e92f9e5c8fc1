// Functions of two numbers, and their gradients, with broadcasting on CUDA devices.
#pragma once

#include <algorithm>

#include "operators/common/broadcast_strides.h"
#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/binary_kernels.h"
#include "operators/elementwise/binary_op.h"

namespace caffe2 {

// As on the host (binary_op.h).
template <class F, typename R, typename A, typename B>
void MapBroadcast(const F& f, const BroadcastPlan& plan, const A* a, const B* b, R* c,
                  CUDAContext* context) {
  if (plan.a_full() && plan.b_full()) {
    MapElements(f, plan.numel, context, c, a, b);
  } else {
    LaunchMapStrided(f, StridesOf(plan), plan.numel, context->stream(), c, a, b);
  }
}

template <class D, typename T>
void SumDerivative(const D& derivative, const BroadcastPlan& plan, int64_t count, const T* dc,
                   const T* a, const T* b, T* gradient, CUDAContext* context) {
  Strides kept, summed;
  int64_t summed_count = 1, stride = 1;
  for (int d = plan.dims - 1; d >= 0; --d) {
    const int64_t own = D::kOperand == 0 ? plan.a_stride[d] : plan.b_stride[d];
    Strides& space = own != 0 ? kept : summed;
    if (own == 0) summed_count *= plan.size[d];
    const int k = space.dims++;
    space.size[k] = plan.size[d];
    space.stride[0][k] = stride;
    space.stride[1][k] = plan.a_stride[d];
    space.stride[2][k] = plan.b_stride[d];
    stride *= plan.size[d];
  }
  for (Strides* space : {&kept, &summed}) {  // outermost dimension first
    std::reverse(space->size, space->size + space->dims);
    for (auto& steps : space->stride) std::reverse(steps, steps + space->dims);
  }
  LaunchSumDerivative(derivative, kept, summed, count, summed_count, context->stream(), gradient,
                      dc, a, b);
}

}  // namespace caffe2
