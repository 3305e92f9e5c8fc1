// The sum of two normalized images on CUDA devices. Pointers are device memory; T is float, float16
// or bfloat16.
#pragma once

#include "operators/common/channel_kernels.h"

namespace caffe2 {

// Two images of one shape and their bn_params, 6 x C (bn_params.h).
template <typename T>
struct TwoNormedImages {
  const T *x = nullptr, *z = nullptr;
  const float *bn_params = nullptr, *z_bn_params = nullptr;
};

// y = relu(normalized x + normalized z). y may be x or z.
template <typename T>
void LaunchNormSumNormRelu(const ChannelShape& shape, const TwoNormedImages<T>& in, T* y,
                           cuda::Stream stream);

// g = dy where the sum is positive, else 0; g may be dy. Also computes d_bn_params and dz_bn_params
// (2 x C, bn_params.h) from g. `scratch` holds BatchNormScratch(shape) floats.
template <typename T>
void LaunchNormSumNormReluGradient(const ChannelShape& shape, const TwoNormedImages<T>& in,
                                   const T* dy, T* g, float* d_bn_params, float* dz_bn_params,
                                   float* scratch, cuda::Stream stream);

}  // namespace caffe2
