// Batch normalization, biases and other work by channels on CUDA devices. Pointers are device
// memory. T is float, float16 or bfloat16; values of a channel are float. Sums are computed in
// float over fixed parts, which are then added in double, in a fixed order.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/common/channel_shape.h"

namespace caffe2 {

// The number of floats that the functions below need as scratch.
int64_t BatchNormScratch(const ChannelShape& shape);

// Parameters and outputs of the statistics of a batch, in training.
struct BatchNormStatistics {
  double epsilon = 0;
  float momentum = 0;
  double count = 0;             // elements of a channel in all batches together
  const float* sums = nullptr;  // sums of x over all batches; null: computed here
  const float* square_sums = nullptr;
  float *saved_mean = nullptr, *saved_inverse_std = nullptr;
  float *running_mean = nullptr, *running_variance = nullptr;
};
template <typename T>
void LaunchBatchNormStatistics(const ChannelShape& shape, const T* x,
                               const BatchNormStatistics& statistics, float* scratch,
                               cuda::Stream stream);

// y = act((x - mean) * scale / deviation + bias + z), with deviation = sqrt(variance + epsilon). z
// may be null; act is Relu or the identity. `spread` is 1 / deviation or, with `is_variance`, the
// variance.
template <typename T>
void LaunchBatchNormApply(const ChannelShape& shape, const T* x, const float* mean,
                          const float* spread, bool is_variance, double epsilon, const float* scale,
                          const float* bias, const T* z, bool relu, T* y, cuda::Stream stream);

// Inputs and outputs of the gradient of a batch normalization.
template <typename T>
struct BatchNormGradient {
  const T *x = nullptr, *dy = nullptr;
  const T* y = nullptr;         // not null: a Relu passes dy only where y > 0
  const float* bias = nullptr;  // not null: a Relu passes dy only where the normalized x > 0
  const float *scale = nullptr, *mean = nullptr;
  const float* spread = nullptr;
  bool is_variance = false;  // as above; the gradient then takes the statistics as constants
  double epsilon = 0;
  const float *sum_dscale = nullptr, *sum_dbias = nullptr;  // of num_batches batches, or null
  int num_batches = 1;
  float *dscale = nullptr, *dbias = nullptr;
  T* dz = nullptr;  // output: dy after the Relu's mask; null: not written
  T* dx = nullptr;  // output; null: only the sums and dz are computed
};
template <typename T>
void LaunchBatchNormGradient(const ChannelShape& shape, const BatchNormGradient<T>& gradient,
                             float* scratch, cuda::Stream stream);

// Fills the rows scale, bias, factor and shift of bn_params (operators/norm/bn_params.h) from the
// rows mean and inverse_std.
void LaunchBnParams(int64_t channels, const float* scale, const float* bias, float* norm,
                    cuda::Stream stream);

// y = act(y + bias[channel] + z), in place; bias and z may be null, act is Relu or the
// identity.
template <typename T>
void LaunchChannelEpilogue(const ChannelShape& shape, const T* bias, const T* z, bool relu, T* y,
                           cuda::Stream stream);
// sums[c] = the sum of channel c; `scratch` holds BatchNormScratch(shape) floats.
template <typename T>
void LaunchChannelSums(const ChannelShape& shape, const T* x, float* scratch, T* sums,
                       cuda::Stream stream);
// first[c] = the sum of g; second[c] = the sum of g * (x - mean) * inverse_std or, if mean and
// inverse_std are null, the sum of g * x.
template <typename T>
void LaunchChannelProducts(const ChannelShape& shape, const T* x, const T* g, const float* mean,
                           const float* inverse_std, float* scratch, float* first, float* second,
                           cuda::Stream stream);

}  // namespace caffe2
