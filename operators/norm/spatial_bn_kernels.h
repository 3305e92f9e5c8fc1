// The passes of batch normalization over an image on the CPU. Results do not depend on the number
// of threads: sums are computed over fixed blocks, which are then added in order.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/common/channel_shape.h"
#include "operators/conv/conv_pool_shape.h"

namespace caffe2 {

// The channels of an image of these dimensions. Throws EnforceNotMet if it has none.
ChannelShape ChannelShapeOf(const std::vector<int64_t>& dims, StorageOrder order);

// How the backward pass finds out where a Relu after the normalization passed its input on.
enum class ReluMask {
  kNone,   // there is no Relu
  kFromX,  // computes the normalized value again, which depends on x alone
  kFromY,  // reads the output, because z was added before the Relu
};

// T is float or bfloat16; arithmetic is in float. Outputs may be in the same memory as inputs of
// the same shape.

// Mean and variance (divided by the number of elements) of each channel, in one pass over x.
// There must be elements.
template <typename T>
void ChannelMoments(const ChannelShape& shape, const T* x, float* mean, float* variance);

// y = act((x - mean) * scale + bias + z): z may be null; act is Relu or the identity.
template <typename T>
void NormalizeChannels(const ChannelShape& shape, const T* x, const float* mean, const float* scale,
                       const float* bias, const T* z, bool relu, T* y);

// Inputs of the backward pass. Below, g is dy where the Relu passed its input on, else 0.
template <typename T>
struct NormalizeGradient {
  const T* x = nullptr;
  const T* dy = nullptr;
  const float* mean = nullptr;
  ReluMask mask = ReluMask::kNone;
  const float* scale = nullptr;  // kFromX: as in NormalizeChannels
  const float* bias = nullptr;   // kFromX
  const T* y = nullptr;          // kFromY
};
// sum_g = sum of g; sum_gx = sum of g * (x - mean). With kFromY g itself is written to `dz`.
template <typename T>
void ChannelGradientSums(const ChannelShape& shape, const NormalizeGradient<T>& in, float* sum_g,
                         float* sum_gx, T* dz);
// dx = a * g + b * (x - mean) + c. Not for kFromY: give it the g that ChannelGradientSums wrote.
template <typename T>
void NormalizeInputGradient(const ChannelShape& shape, const NormalizeGradient<T>& in,
                            const float* a, const float* b, const float* c, T* dx);

}  // namespace caffe2
