// The kernels of accumulate.h, for element types that are known at compile time.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

template <typename T>
void LaunchAccumulate(int64_t n, const T* x, T* sum, Stream stream);
template <typename T>
void LaunchScaleInPlace(int64_t n, float scale, T* x, Stream stream);

}  // namespace caffe2::cuda
