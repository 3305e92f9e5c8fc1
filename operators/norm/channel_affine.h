// Scales and offsets channels on the CPU; channel_affine_cuda.h does so on CUDA devices.
#pragma once

#include <vector>

#include "caffe2/core/context.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

// y = x * scale[channel] + bias[channel]; bias may be null, and y may be x.
template <typename T>
void ScaleChannels(const ChannelShape& shape, const T* x, const float* scale, const float* bias,
                   T* y, CPUContext* /*context*/) {
  const std::vector<float> zeros(shape.channels, 0.f);
  NormalizeChannels<T>(shape, x, zeros.data(), scale, bias != nullptr ? bias : zeros.data(),
                       nullptr, false, y);
}
// The sums of g * x and of g over each channel.
template <typename T>
void SumChannelProducts(const ChannelShape& shape, const T* x, const T* g, float* sum_gx,
                        float* sum_g, CPUContext* /*context*/) {
  const std::vector<float> zeros(shape.channels, 0.f);
  NormalizeGradient<T> in;
  in.x = x;
  in.dy = g;
  in.mean = zeros.data();
  ChannelGradientSums<T>(shape, in, sum_g, sum_gx, nullptr);
}

}  // namespace caffe2
