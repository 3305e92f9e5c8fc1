// The functions of activation_functions.h on CUDA devices. Pointers are device memory; x, y, dy and
// dx may be the same arrays. T: float, float16, bfloat16.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

template <class F, typename T>
void LaunchFunction(const F& f, int64_t n, const T* x, T* y, cuda::Stream stream);
template <class F, typename T>
void LaunchFunctionGradient(const F& f, int64_t n, const T* saved, const T* dy, T* dx,
                            cuda::Stream stream);

}  // namespace caffe2
