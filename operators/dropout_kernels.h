// Dropout on CUDA devices. Pointers are device memory; T is float, float16 or bfloat16.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// keep[i] = word i of the random stream (RandomGenerator, caffe2/core/random.h) from `position` on
// is at least `bound`; y = x * scale where it is kept, else 0. y may be x.
template <typename T>
void LaunchDropout(int64_t n, const T* x, uint64_t seed, uint64_t position, uint64_t bound,
                   float scale, bool* keep, T* y, cuda::Stream stream);
// dx = dy * scale where it was kept, else 0. dx may be dy.
template <typename T>
void LaunchDropoutGradient(int64_t n, const T* dy, const bool* keep, float scale, T* dx,
                           cuda::Stream stream);

}  // namespace caffe2
