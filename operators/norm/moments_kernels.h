// The gradient of moments on CUDA devices. Pointers are device memory.
#pragma once

#include "caffe2/cuda/stream.h"
#include "operators/common/strides.h"

namespace caffe2 {

// dx = share * (dfirst + 2 (x - mean) dsecond) for the n elements of x, with the moments broadcast
// as operand 1 of the strides. mean may be null. T is float or double.
template <typename T>
void LaunchMomentsGradient(const Strides& space, int64_t n, T share, const T* dfirst,
                           const T* dsecond, const T* x, const T* mean, T* dx, cuda::Stream stream);

}  // namespace caffe2
