// The sum of two normalized images on CUDA devices. Pointers are device memory; T is float, float16
// or bfloat16.
#pragma once

#include "operators/common/channel_kernels.h"

namespace caffe2 {

// Two images of one layout, and how each is normalized: norms of 6 x C (norm_rows.h).
template <typename T>
struct TwoNormedImages {
  const T *x = nullptr, *z = nullptr;
  const float *norm = nullptr, *z_norm = nullptr;
};

// y = relu(normed x + normed z). y may be x or z.
template <typename T>
void LaunchNormSumNormRelu(const ChannelLayout& layout, const TwoNormedImages<T>& in, T* y,
                           cuda::Stream stream);

// g = dy where the sum is above zero, else 0, which may be dy; dnorm and dz_norm (2 x C,
// norm_rows.h) are the sums over g. `scratch` holds BatchNormScratch(layout) floats.
template <typename T>
void LaunchNormSumNormReluGradient(const ChannelLayout& layout, const TwoNormedImages<T>& in,
                                   const T* dy, T* g, float* dnorm, float* dz_norm, float* scratch,
                                   cuda::Stream stream);

}  // namespace caffe2
