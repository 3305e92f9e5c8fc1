// Scales and offsets channels on CUDA devices.
#pragma once

#include <cstring>

#include "operators/elementwise/elementwise_kernels.h"
#include "operators/norm/channel_layout_cuda.h"

namespace caffe2 {

// y = x * scale + bias for each channel: runs the normalization with mean 0 and deviation 1.
template <typename T>
void ScaleLayout(const ChannelLayout& layout, const T* x, const float* scale, const float* bias,
                 T* y, CUDAContext* context) {
  Tensor constants(context->device());
  constants.Resize(2, layout.channels);
  float* zeros = constants.mutable_data<float>();
  float* ones = zeros + layout.channels;
  const float one = 1;
  uint32_t bits;
  std::memcpy(&bits, &one, sizeof(bits));
  LaunchFill(layout.channels, sizeof(float), 0, zeros, context->stream());
  LaunchFill(layout.channels, sizeof(float), bits, ones, context->stream());
  LaunchBatchNormApply<T>(layout, x, zeros, ones, false, 0, scale, bias != nullptr ? bias : zeros,
                          nullptr, false, y, context->stream());
}
// The sums of g * x and of g over each channel.
template <typename T>
void SumLayoutProducts(const ChannelLayout& layout, const T* x, const T* g, float* sum_gx,
                       float* sum_g, CUDAContext* context) {
  Tensor scratch(context->device());
  LaunchChannelProducts<T>(layout, x, g, nullptr, nullptr, ResizeScratch(layout, &scratch), sum_g,
                           sum_gx, context->stream());
}

}  // namespace caffe2
