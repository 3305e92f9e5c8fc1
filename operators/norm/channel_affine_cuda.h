// Scales and offsets channels on CUDA devices.
#pragma once

#include <cstring>

#include "operators/elementwise/elementwise_kernels.h"
#include "operators/norm/channel_scratch_cuda.h"

namespace caffe2 {

// y = x * scale + bias for each channel: runs the normalization with mean 0 and deviation 1.
template <typename T>
void ScaleChannels(const ChannelShape& shape, const T* x, const float* scale, const float* bias,
                   T* y, CUDAContext* context) {
  Tensor constants(context->device());
  constants.Resize(2, shape.channels);
  float* zeros = constants.mutable_data<float>();
  float* ones = zeros + shape.channels;
  const float one = 1;
  uint32_t bits;
  std::memcpy(&bits, &one, sizeof(bits));
  LaunchFill(shape.channels, sizeof(float), 0, zeros, context->stream());
  LaunchFill(shape.channels, sizeof(float), bits, ones, context->stream());
  LaunchBatchNormApply<T>(shape, x, zeros, ones, false, 0, scale, bias != nullptr ? bias : zeros,
                          nullptr, false, y, context->stream());
}
// The sums of g * x and of g over each channel.
template <typename T>
void SumChannelProducts(const ChannelShape& shape, const T* x, const T* g, float* sum_gx,
                        float* sum_g, CUDAContext* context) {
  Tensor scratch(context->device());
  LaunchChannelProducts<T>(shape, x, g, nullptr, nullptr, ResizeScratch(shape, &scratch), sum_g,
                           sum_gx, context->stream());
}

}  // namespace caffe2
