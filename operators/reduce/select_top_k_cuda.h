// Selects the largest elements of lines on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/reduce/selection_kernels.h"

namespace caffe2 {

// LaunchTopK (selection_kernels.h) with the keys it needs.
template <typename T>
void SelectTopK(int64_t lines, const LineLayout& layout, int64_t k, const T* x, T* values,
                int64_t* indices, int64_t* flat, CUDAContext* context) {
  Tensor storage(context->device());
  uint64_t* keys = nullptr;
  if (const int64_t count = TopKKeys(lines, layout.n, k, sizeof(T)); count > 0) {
    storage.Resize(count);
    keys = reinterpret_cast<uint64_t*>(storage.mutable_data<int64_t>());
  }
  LaunchTopK(lines, layout, k, x, values, indices, flat, keys, context->stream());
}

}  // namespace caffe2
