// Dropout on CUDA devices. Pointers are device memory; T is float, float16 or bfloat16.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// A place in a random stream (RandomGenerator, caffe2/core/random.h). If `address` is not null,
// kernels read the position from device memory.
struct RandomPlace {
  uint64_t seed = 0;
  const uint64_t* address = nullptr;
  uint64_t position = 0;
};

// keep[i] is true if word i of the random stream, counted from `place`, is at least `bound`.
// y = x * scale where keep[i], else 0. y may be x.
template <typename T>
void LaunchDropout(int64_t n, const T* x, const RandomPlace& place, uint64_t bound, float scale,
                   bool* keep, T* y, cuda::Stream stream);

}  // namespace caffe2
