// The gradients of PRelu on CUDA devices. Pointers are device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// X as [outer, channels, inner], with one slope for each channel.
struct SlopedChannels {
  int64_t outer = 0, channels = 0, inner = 0;
};

// The gradients of PReluFunction (prelu_functions.h). T is float, float16 or bfloat16. The sums of
// `dslope` are computed in double, in a fixed order. `scratch` holds PReluScratch(layout) doubles.
int64_t PReluScratch(const SlopedChannels& layout);
template <typename T>
void LaunchPReluGradient(const SlopedChannels& layout, const T* x, const float* slope, const T* dy,
                         double* scratch, T* dx, float* dslope, cuda::Stream stream);

}  // namespace caffe2
