// InstanceNorm, LayerNorm and LRN on CUDA devices. Pointers are device memory. T is float,
// float16 or bfloat16; values of a channel or row are float. Sums are computed in double, in a
// fixed order.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// `rows` rows of `size` elements with one mean and deviation each. Row r is channel r % channels of
// image r / channels; its element i is at image * channels * size + channel * channel_stride + i *
// stride.
struct NormalizedRows {
  int64_t rows = 0, size = 0, channels = 1, channel_stride = 0, stride = 1;
};

// y = (x - mean) / deviation * scale[channel] + bias[channel], with deviation = sqrt(variance +
// epsilon). Scale and bias may be null. Also writes the means, and the deviations or their
// inverses, to the pointers that are not null. y may be x.
template <typename T>
struct RowNormalization {
  const T* x = nullptr;
  const float *scale = nullptr, *bias = nullptr;
  float epsilon = 0;
  float *mean = nullptr, *deviation = nullptr, *inverse_deviation = nullptr;
  T* y = nullptr;
};
template <typename T>
void LaunchNormalizeRows(const NormalizedRows& layout, const RowNormalization<T>& normalization,
                         cuda::Stream stream);

// With z = (x - mean) / deviation: dx = scale / deviation * (dy - mean(dy) - z mean(dy z)). Also
// writes the sums of dy and of dy z of each row, unless their pointers are null. z may be given
// instead of x. If neither inverse_deviation nor deviation is given, mean and deviation are
// computed from x.
template <typename T>
struct RowNormalizationGradient {
  const T *x = nullptr, *z = nullptr, *dy = nullptr;
  const float* scale = nullptr;  // null: 1
  const float *mean = nullptr, *deviation = nullptr, *inverse_deviation = nullptr;
  float epsilon = 0;
  double *sum_dy = nullptr, *sum_dyz = nullptr;
  T* dx = nullptr;
};
template <typename T>
void LaunchNormalizeRowsGradient(const NormalizedRows& layout,
                                 const RowNormalizationGradient<T>& gradient, cuda::Stream stream);
// dscale[c] and dbias[c] = the sums of the rows of channel c.
void LaunchAddRows(const NormalizedRows& layout, const double* sum_dyz, const double* sum_dy,
                   float* dscale, float* dbias, cuda::Stream stream);

// X as [outer, channels, inner].
struct AcrossChannels {
  int64_t outer = 0, channels = 0, inner = 0;
};
// The arguments of a local response normalization.
struct LrnWindow {
  int size = 1;  // channels of the window, odd
  float alpha = 0, beta = 0, bias = 0;
};
// scale = bias + alpha / size * (sum of x^2 over the window), y = x * scale^-beta. scale is of T,
// or null.
template <typename T>
void LaunchLrn(const AcrossChannels& layout, const LrnWindow& window, const T* x, T* y, T* scale,
               cuda::Stream stream);
// `scratch` holds as many elements as x.
template <typename T>
void LaunchLrnGradient(const AcrossChannels& layout, const LrnWindow& window, const T* x,
                       const T* y, const T* dy, float* scratch, T* dx, cuda::Stream stream);

}  // namespace caffe2
