#include "caffe2/cuda/kernel.h"
#include "operators/norm/normalization_kernels.h"

namespace caffe2 {
namespace {

using cuda::BlockSum;
using cuda::kThreads;
using cuda::Narrow;
using cuda::Widen;

__device__ inline int64_t FirstOf(const NormalizedRows& l, int64_t row) {
  return row / l.channels * l.channels * l.size + row % l.channels * l.channel_stride;
}

struct Moments {
  float mean, inverse_deviation;
  double deviation;
};
// Two passes, so that a large mean does not make the variance inexact.
template <typename T>
__device__ Moments MomentsOf(const NormalizedRows& l, const T* x, float epsilon) {
  double sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < l.size; i += kThreads) sum += Widen(x[i * l.stride]);
  const double count = l.size > 0 ? static_cast<double>(l.size) : 1;
  const double mean = BlockSum<kThreads>(sum) / count;
  for (int64_t i = threadIdx.x; i < l.size; i += kThreads) {
    const double distance = Widen(x[i * l.stride]) - mean;
    squares += distance * distance;
  }
  const double deviation = sqrt(BlockSum<kThreads>(squares) / count + epsilon);
  return {static_cast<float>(mean), static_cast<float>(1 / deviation), deviation};
}

// One block for each row.
template <typename T>
__global__ void NormalizeRowsKernel(NormalizedRows l, RowNormalization<T> n) {
  for (int64_t row = blockIdx.x; row < l.rows; row += gridDim.x) {
    const int64_t first = FirstOf(l, row), channel = row % l.channels;
    const Moments moments = MomentsOf(l, n.x + first, n.epsilon);
    if (threadIdx.x == 0) {
      if (n.mean != nullptr) n.mean[row] = moments.mean;
      if (n.deviation != nullptr) n.deviation[row] = static_cast<float>(moments.deviation);
      if (n.inverse_deviation != nullptr) n.inverse_deviation[row] = moments.inverse_deviation;
    }
    const float scale = n.scale != nullptr ? n.scale[channel] : 1.f;
    const float bias = n.bias != nullptr ? n.bias[channel] : 0.f;
    for (int64_t i = threadIdx.x; i < l.size; i += kThreads) {
      const int64_t at = first + i * l.stride;
      const float z = (Widen(n.x[at]) - moments.mean) * moments.inverse_deviation;
      n.y[at] = Narrow<T>(z * scale + bias);
    }
  }
}

template <typename T>
__global__ void NormalizeRowsGradientKernel(NormalizedRows l, RowNormalizationGradient<T> g) {
  for (int64_t row = blockIdx.x; row < l.rows; row += gridDim.x) {
    const int64_t first = FirstOf(l, row);
    float mean = 0, inverse = 1;
    if (g.inverse_deviation != nullptr) {
      mean = g.mean[row];
      inverse = g.inverse_deviation[row];
    } else if (g.deviation != nullptr) {
      inverse = 1.f / g.deviation[row];
    } else {
      const Moments moments = MomentsOf(l, g.x + first, g.epsilon);
      mean = moments.mean;
      inverse = moments.inverse_deviation;
    }
    const auto z_at = [&](int64_t at) {
      return g.z != nullptr ? Widen(g.z[at]) : (Widen(g.x[at]) - mean) * inverse;
    };
    double sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < l.size; i += kThreads) {
      const int64_t at = first + i * l.stride;
      const double dy = Widen(g.dy[at]);
      sum += dy;
      product += dy * z_at(at);
    }
    sum = BlockSum<kThreads>(sum);
    product = BlockSum<kThreads>(product);
    if (threadIdx.x == 0) {
      if (g.sum_dy != nullptr) g.sum_dy[row] = sum;
      if (g.sum_dyz != nullptr) g.sum_dyz[row] = product;
    }
    const auto mean_dy = static_cast<float>(sum / static_cast<double>(l.size));
    const auto mean_dyz = static_cast<float>(product / static_cast<double>(l.size));
    const float factor = (g.scale != nullptr ? g.scale[row % l.channels] : 1.f) * inverse;
    for (int64_t i = threadIdx.x; i < l.size; i += kThreads) {
      const int64_t at = first + i * l.stride;
      g.dx[at] = Narrow<T>(factor * (Widen(g.dy[at]) - mean_dy - z_at(at) * mean_dyz));
    }
  }
}

unsigned BlocksForRows(int64_t rows) {
  return static_cast<unsigned>(std::min<int64_t>(rows, 1 << 16));
}

// The sum of f(element) over the window of channels around element i.
template <class F>
__device__ inline float SumOverWindow(const AcrossChannels& l, int size, int64_t i, const F& f) {
  const int64_t channel = i / l.inner % l.channels;
  const int64_t first = channel < size / 2 ? -channel : -(size / 2);
  const int64_t after = l.channels - channel;
  const int64_t last = after <= size / 2 ? after - 1 : size / 2;
  float sum = 0;
  for (int64_t k = first; k <= last; ++k) sum += f(i + k * l.inner);
  return sum;
}

template <typename T>
__device__ inline float LrnScale(const AcrossChannels& l, const LrnWindow& w, const T* x,
                                 int64_t i) {
  const float squares = SumOverWindow(l, w.size, i, [x](int64_t at) {
    const float value = Widen(x[at]);
    return value * value;
  });
  return w.bias + w.alpha / static_cast<float>(w.size) * squares;
}

int64_t NumelOf(const AcrossChannels& l) { return l.outer * l.channels * l.inner; }

}  // namespace

template <typename T>
void LaunchNormalizeRows(const NormalizedRows& layout, const RowNormalization<T>& normalization,
                         cuda::Stream stream) {
  if (layout.rows == 0) return;
  cuda::Launch("NormalizeRows", NormalizeRowsKernel<T>, BlocksForRows(layout.rows), kThreads,
               stream, layout, normalization);
}

template <typename T>
void LaunchNormalizeRowsGradient(const NormalizedRows& layout,
                                 const RowNormalizationGradient<T>& gradient, cuda::Stream stream) {
  if (layout.rows == 0) return;
  cuda::Launch("NormalizeRowsGradient", NormalizeRowsGradientKernel<T>, BlocksForRows(layout.rows),
               kThreads, stream, layout, gradient);
}

void LaunchAddRows(const NormalizedRows& layout, const double* sum_dyz, const double* sum_dy,
                   float* dscale, float* dbias, cuda::Stream stream) {
  const NormalizedRows l = layout;
  cuda::ForEach("AddRows", l.channels, stream, [=] __device__(int64_t c) {
    double scale = 0, bias = 0;
    for (int64_t row = c; row < l.rows; row += l.channels) {
      scale += sum_dyz[row];
      bias += sum_dy[row];
    }
    dscale[c] = static_cast<float>(scale);
    dbias[c] = static_cast<float>(bias);
  });
}

template <typename T>
void LaunchLrn(const AcrossChannels& layout, const LrnWindow& window, const T* x, T* y, T* scale,
               cuda::Stream stream) {
  const AcrossChannels l = layout;
  const LrnWindow w = window;
  cuda::ForEach("LRN", NumelOf(l), stream, [=] __device__(int64_t i) {
    const float factor = LrnScale(l, w, x, i);
    if (scale != nullptr) scale[i] = Narrow<T>(factor);
    y[i] = Narrow<T>(Widen(x[i]) * powf(factor, -w.beta));
  });
}

// dx[c] = scale[c]^-beta dy[c]
//         - 2 alpha beta / size x[c] * (sum of dy y / scale over the window around c)
template <typename T>
void LaunchLrnGradient(const AcrossChannels& layout, const LrnWindow& window, const T* x,
                       const T* y, const T* dy, float* scratch, T* dx, cuda::Stream stream) {
  const AcrossChannels l = layout;
  const LrnWindow w = window;
  cuda::ForEach("LRNScale", NumelOf(l), stream,
                [=] __device__(int64_t i) { scratch[i] = LrnScale(l, w, x, i); });
  const float factor = 2 * w.alpha * w.beta / static_cast<float>(w.size);
  cuda::ForEach("LRNGradient", NumelOf(l), stream, [=] __device__(int64_t i) {
    const float sum = SumOverWindow(
        l, w.size, i, [=](int64_t at) { return Widen(dy[at]) * Widen(y[at]) / scratch[at]; });
    dx[i] = Narrow<T>(powf(scratch[i], -w.beta) * Widen(dy[i]) - factor * Widen(x[i]) * sum);
  });
}

#define INSTANTIATE(T)                                                                         \
  template void LaunchNormalizeRows(const NormalizedRows&, const RowNormalization<T>&,         \
                                    cuda::Stream);                                             \
  template void LaunchNormalizeRowsGradient(const NormalizedRows&,                             \
                                            const RowNormalizationGradient<T>&, cuda::Stream); \
  template void LaunchLrn(const AcrossChannels&, const LrnWindow&, const T*, T*, T*,           \
                          cuda::Stream);                                                       \
  template void LaunchLrnGradient(const AcrossChannels&, const LrnWindow&, const T*, const T*, \
                                  const T*, float*, T*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
