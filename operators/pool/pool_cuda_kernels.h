// Pooling on CUDA devices. Pointers are device memory. T is float, float16 or bfloat16. Sums are
// computed in float.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// The shapes of one pooling, like PoolShape (operators/pool/pool_kernels.h).
struct PoolLayout {
  bool max = false;
  bool channels_last = false;
  bool count_include_pad = false;
  int64_t batch = 0, channels = 0;
  int64_t input[3] = {1, 1, 1}, output[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, pad[3] = {};
};

template <typename T>
void LaunchPool(const PoolLayout& layout, const T* x, T* y, cuda::Stream stream);
// The gradient of a maximum goes to every element that equals it. Each element of dx gathers from
// the windows that hold it, so that sums have a fixed order. x and y are not read for averages.
template <typename T>
void LaunchPoolGradient(const PoolLayout& layout, const T* x, const T* y, const T* dy, T* dx,
                        cuda::Stream stream);

}  // namespace caffe2
