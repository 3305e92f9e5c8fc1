// Pooling on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/pool/pool_cuda_kernels.h"
#include "operators/pool/pool_op.h"

namespace caffe2 {

inline PoolLayout LayoutOf(const PoolShape& shape, PoolKind kind) {
  PoolLayout layout;
  layout.max = kind == PoolKind::kMax;
  layout.channels_last = shape.channels_last;
  layout.count_include_pad = shape.count_include_pad;
  layout.batch = shape.batch;
  layout.channels = shape.channels;
  for (int d = 0; d < 3; ++d) {
    layout.input[d] = shape.input[d];
    layout.output[d] = shape.output[d];
    layout.kernel[d] = shape.kernel[d];
    layout.stride[d] = shape.stride[d];
    layout.pad[d] = shape.pad[d];
  }
  return layout;
}

// As on the host (pool_op.h), for device memory. T is float, float16 or bfloat16.
template <typename T>
void Pool(PoolKind kind, const PoolShape& shape, const T* x, T* y, CUDAContext* context) {
  LaunchPool(LayoutOf(shape, kind), x, y, context->stream());
}
template <typename T>
void PoolGradient(PoolKind kind, const PoolShape& shape, const T* x, const T* y, const T* dy, T* dx,
                  CUDAContext* context) {
  LaunchPoolGradient(LayoutOf(shape, kind), x, y, dy, dx, context->stream());
}

}  // namespace caffe2
