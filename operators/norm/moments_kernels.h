// The gradient of moments on CUDA devices. Pointers are device memory.
#pragma once

#include "caffe2/cuda/stream.h"
#include "operators/common/strides.h"

namespace caffe2 {

// dx = share * (dfirst + 2 (x - mean) dsecond) at the n elements of a space whose operand 1 are the
// moments; mean may be null. T: float, double.
template <typename T>
void LaunchMomentsGradient(const Strides& space, int64_t n, T share, const T* dfirst,
                           const T* dsecond, const T* x, const T* mean, T* dx, cuda::Stream stream);

}  // namespace caffe2
