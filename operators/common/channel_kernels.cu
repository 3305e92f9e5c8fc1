#include "operators/common/channel_walk.h"
#include "operators/norm/bn_params.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Widen;

// Blocks of a sum must hide the latency of memory: eight of them for each multiprocessor of Hopper.
constexpr int64_t kPerPart = 256;  // least elements of a channel in a part
constexpr int64_t kMaxParts = 1024;
constexpr int64_t kMaxSumBlocks = 1056;
constexpr int kMaxSums = 3;        // sums of a channel in one pass
constexpr int kChannelArrays = 4;  // values a channel that the gradient keeps in scratch

__device__ inline float InverseStd(float spread, bool is_variance, double epsilon) {
  return is_variance ? static_cast<float>(1.0 / sqrt(spread + epsilon)) : spread;
}

// The first element of channel c: a value near its mean, so that sums of squares lose no digits.
template <typename T>
__device__ inline float ShiftOf(const ChannelShape& shape, const T* x, int64_t c) {
  return Widen(x[shape.channels_last ? c : c * shape.spatial]);
}

// Sums of x - shift and of (x - shift)^2.
template <typename T>
struct Moments {
  static constexpr int kSums = 2;
  ChannelShape shape;
  const T* x;

  template <int N>
  struct Of {
    float shift[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
#pragma unroll
    for (int k = 0; k < N; ++k) of.shift[k] = ShiftOf(shape, x, c + k * step);
    return of;
  }
  template <int N>
  __device__ void Add(const Of<N>& of, int64_t i, Sums<2, N>* sums) const {
    float v[N];
    LoadPack(x + i, v);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float shifted = v[k] - of.shift[k];
      sums->v[0][k] += shifted;
      sums->v[1][k] += shifted * shifted;
    }
  }
};

template <typename T>
struct PlainSum {
  static constexpr int kSums = 1;
  const T* x;

  template <int N>
  struct Of {};
  template <int N>
  __device__ Of<N> Begin(int64_t, int) const {
    return {};
  }
  template <int N>
  __device__ void Add(const Of<N>&, int64_t i, Sums<1, N>* sums) const {
    float v[N];
    LoadPack(x + i, v);
#pragma unroll
    for (int k = 0; k < N; ++k) sums->v[0][k] += v[k];
  }
};

// Sums of g and of g * (x - mean).
template <typename T>
struct Products {
  static constexpr int kSums = 2;
  const T *x, *g;
  const float* mean;  // or null

  template <int N>
  struct Of {
    float mean[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
    LoadChannels(mean, c, step, of.mean);
    return of;
  }
  template <int N>
  __device__ void Add(const Of<N>& of, int64_t i, Sums<2, N>* sums) const {
    float v[N], d[N];
    LoadPack(x + i, v);
    LoadPack(g + i, d);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sums->v[0][k] += d[k];
      sums->v[1][k] += d[k] * (v[k] - of.mean[k]);
    }
  }
};

// y = act((x - mean) * factor + bias + z).
template <typename T>
struct Normalize {
  const T *x, *z;
  const float *mean, *spread, *scale, *bias;
  bool is_variance;
  double epsilon;
  bool relu;
  T* y;

  template <int N>
  struct Of {
    float mean[N], factor[N], bias[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
    LoadChannels(mean, c, step, of.mean);
    LoadChannels(bias, c, step, of.bias);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      of.factor[k] = scale[c + k * step] * InverseStd(spread[c + k * step], is_variance, epsilon);
    }
    return of;
  }
  template <int N>
  __device__ void Do(const Of<N>& of, int64_t i) const {
    float v[N], added[N] = {};
    LoadPack(x + i, v);
    if (z != nullptr) LoadPack(z + i, added);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float value = (v[k] - of.mean[k]) * of.factor[k] + of.bias[k] + added[k];
      v[k] = relu && value < 0 ? 0.f : value;
    }
    StorePack(v, y + i);
  }
};

// y = act(y + bias + z).
template <typename T>
struct Epilogue {
  const T *bias, *z;
  bool relu;
  T* y;

  template <int N>
  struct Of {
    float bias[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
#pragma unroll
    for (int k = 0; k < N; ++k) of.bias[k] = bias != nullptr ? Widen(bias[c + k * step]) : 0.f;
    return of;
  }
  template <int N>
  __device__ void Do(const Of<N>& of, int64_t i) const {
    float v[N], added[N] = {};
    LoadPack(y + i, v);
    if (z != nullptr) LoadPack(z + i, added);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float value = v[k] + of.bias[k] + added[k];
      v[k] = relu && value < 0 ? 0.f : value;
    }
    StorePack(v, y + i);
  }
};

// The place of the gradient's channel values in scratch.
struct GradientFactors {
  float *inverse_std, *factor, *by_x, *constant;
};

// N elements of dy, with 0 where the Relu was closed.
template <typename T>
struct GradientMask {
  BatchNormGradient<T> in;
  const float* factor;

  template <int N>
  struct Of {
    float mean[N], factor[N], bias[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
    LoadChannels(in.mean, c, step, of.mean);
    LoadChannels(factor, c, step, of.factor);
    LoadChannels(in.bias, c, step, of.bias);
    return of;
  }
  template <int N>
  __device__ void Read(const Of<N>& of, int64_t i, float (&x)[N], float (&g)[N]) const {
    LoadPack(in.x + i, x);
    LoadPack(in.dy + i, g);
    if (in.y != nullptr) {
      float y[N];
      LoadPack(in.y + i, y);
#pragma unroll
      for (int k = 0; k < N; ++k) g[k] = y[k] > 0 ? g[k] : 0.f;
    } else if (in.bias != nullptr) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        g[k] = (x[k] - of.mean[k]) * of.factor[k] + of.bias[k] > 0 ? g[k] : 0.f;
      }
    }
  }
};

// Sums of g and of g * (x - mean); g goes to dz.
template <typename T>
struct GradientSums {
  static constexpr int kSums = 2;
  GradientMask<T> mask;

  template <int N>
  using Of = typename GradientMask<T>::template Of<N>;
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    return mask.template Begin<N>(c, step);
  }
  template <int N>
  __device__ void Add(const Of<N>& of, int64_t i, Sums<2, N>* sums) const {
    float x[N], g[N];
    mask.template Read<N>(of, i, x, g);
    if (mask.in.dz != nullptr) StorePack(g, mask.in.dz + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sums->v[0][k] += g[k];
      sums->v[1][k] += g[k] * (x[k] - of.mean[k]);
    }
  }
};

// dx = factor * g + by_x * (x - mean) + constant.
template <typename T>
struct InputGradient {
  GradientMask<T> mask;
  GradientFactors factors;

  template <int N>
  struct Of {
    typename GradientMask<T>::template Of<N> mask;
    float by_x[N], constant[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
    of.mask = mask.template Begin<N>(c, step);
    LoadChannels(factors.by_x, c, step, of.by_x);
    LoadChannels(factors.constant, c, step, of.constant);
    return of;
  }
  template <int N>
  __device__ void Do(const Of<N>& of, int64_t i) const {
    float x[N], g[N];
    mask.template Read<N>(of.mask, i, x, g);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      x[k] = of.mask.factor[k] * g[k] + of.by_x[k] * (x[k] - of.mask.mean[k]) + of.constant[k];
    }
    StorePack(x, mask.in.dx + i);
  }
};

template <typename T>
void FinishGradientSums(const ChannelShape& shape, const BatchNormGradient<T>& in,
                        const GradientFactors& to, const float* sums, cuda::Stream stream) {
  const int64_t count = shape.batch * shape.spatial;
  const int64_t parts = in.sum_dscale != nullptr ? 0 : ChannelSumParts(shape);
  FinishChannels<2>("BatchNormGradientFactors", shape.channels, parts, sums, stream,
                    [=] __device__(int64_t c, const double* total) {
                      float dscale = 0, dbias = 0;
                      if (count == 0) {
                        // An empty batch adds nothing to the sums of several batches either.
                      } else if (in.sum_dscale != nullptr) {
                        dscale = in.sum_dscale[c] / static_cast<float>(in.num_batches);
                        dbias = in.sum_dbias[c] / static_cast<float>(in.num_batches);
                      } else {
                        dbias = static_cast<float>(total[0]);
                        dscale = static_cast<float>(total[1]) * to.inverse_std[c];
                      }
                      in.dscale[c] = dscale;
                      in.dbias[c] = dbias;
                      const bool constants = in.is_variance || count == 0;
                      const float per_element = constants ? 0.f : static_cast<float>(1.0 / count);
                      to.by_x[c] = -to.factor[c] * to.inverse_std[c] * dscale * per_element;
                      to.constant[c] = -to.factor[c] * dbias * per_element;
                    });
}

}  // namespace

int64_t ChannelSumParts(const ChannelShape& shape) {
  const int64_t count = shape.batch * shape.spatial;
  const int64_t blocks =
      shape.channels_last ? (shape.channels + cuda::kThreads - 1) / cuda::kThreads : shape.channels;
  const int64_t wanted = kMaxSumBlocks / std::max<int64_t>(1, blocks);
  return std::max<int64_t>(1, std::min({wanted, kMaxParts, (count + kPerPart - 1) / kPerPart}));
}

int64_t BatchNormScratch(const ChannelShape& shape) {
  return (kMaxSums * ChannelSumParts(shape) + kChannelArrays) * shape.channels;
}

template <typename T>
void LaunchBatchNormStatistics(const ChannelShape& shape, const T* x, const BatchNormStatistics& to,
                               float* scratch, cuda::Stream stream) {
  if (shape.channels == 0) return;
  const bool given = to.sums != nullptr;
  if (!given) SumChannels<T>("BatchNormSums", shape, stream, Moments<T>{shape, x}, scratch, x);
  FinishChannels<2>(
      "BatchNormStatistics", shape.channels, given ? 0 : ChannelSumParts(shape), scratch, stream,
      [=] __device__(int64_t c, const double* total) {
        double shift = 0, sum = total[0], squares = total[1];
        if (to.sums != nullptr) {
          sum = to.sums[c];
          squares = to.square_sums[c];
        } else {
          shift = ShiftOf(shape, x, c);
        }
        const double mean = sum / to.count;
        const double difference = squares / to.count - mean * mean;
        const auto variance = static_cast<float>(difference > 0 ? difference : 0);
        const float batch_mean = static_cast<float>(mean + shift);
        // The running variance estimates the variance of the population.
        const auto unbiased = static_cast<float>(to.count / (to.count > 2 ? to.count - 1 : 1));
        to.saved_mean[c] = batch_mean;
        to.saved_inverse_std[c] = InverseStd(variance, true, to.epsilon);
        to.running_mean[c] = to.momentum * to.running_mean[c] + (1 - to.momentum) * batch_mean;
        to.running_variance[c] =
            to.momentum * to.running_variance[c] + (1 - to.momentum) * unbiased * variance;
      });
}

template <typename T>
void LaunchBatchNormApply(const ChannelShape& shape, const T* x, const float* mean,
                          const float* spread, bool is_variance, double epsilon, const float* scale,
                          const float* bias, const T* z, bool relu, T* y, cuda::Stream stream) {
  MapChannels<T>(z == nullptr ? "BatchNorm" : "BatchNormAdd", shape, stream,
                 Normalize<T>{x, z, mean, spread, scale, bias, is_variance, epsilon, relu, y}, x, z,
                 y);
}

template <typename T>
void LaunchBatchNormGradient(const ChannelShape& shape, const BatchNormGradient<T>& gradient,
                             float* scratch, cuda::Stream stream) {
  const int64_t channels = shape.channels;
  if (channels == 0) return;
  const GradientFactors to{scratch, scratch + channels, scratch + 2 * channels,
                           scratch + 3 * channels};
  float* sums = scratch + kChannelArrays * channels;
  const BatchNormGradient<T> in = gradient;
  cuda::ForEach("BatchNormFactors", channels, stream, [=] __device__(int64_t c) {
    to.inverse_std[c] = InverseStd(in.spread[c], in.is_variance, in.epsilon);
    to.factor[c] = in.scale[c] * to.inverse_std[c];
  });
  GradientMask<T> mask{in, to.factor};
  if (in.sum_dscale == nullptr) {
    SumChannels<T>("BatchNormGradientSums", shape, stream, GradientSums<T>{mask}, sums, in.x, in.dy,
                   in.y, in.dz);
  }
  FinishGradientSums(shape, in, to, sums, stream);
  if (in.dx == nullptr) return;
  if (in.y != nullptr) {  // dz is masked already
    mask.in.dy = in.dz;
    mask.in.y = nullptr;
    mask.in.bias = nullptr;
  }
  MapChannels<T>("BatchNormGradient", shape, stream, InputGradient<T>{mask, to}, in.x, mask.in.dy,
                 in.dx);
}

void LaunchBnParams(int64_t channels, const float* scale, const float* bias, float* norm,
                    cuda::Stream stream) {
  cuda::ForEach("NormRows", channels, stream, [=] __device__(int64_t c) {
    const float mean = norm[kMeanRow * channels + c];
    const float factor = scale[c] * norm[kInverseStdRow * channels + c];
    norm[kScaleRow * channels + c] = scale[c];
    norm[kBiasRow * channels + c] = bias[c];
    norm[kFactorRow * channels + c] = factor;
    norm[kShiftRow * channels + c] = bias[c] - mean * factor;
  });
}

template <typename T>
void LaunchChannelEpilogue(const ChannelShape& shape, const T* bias, const T* z, bool relu, T* y,
                           cuda::Stream stream) {
  MapChannels<T>(z == nullptr ? "ChannelEpilogue" : "ChannelEpilogueAdd", shape, stream,
                 Epilogue<T>{bias, z, relu, y}, z, y);
}

template <typename T>
void LaunchChannelSums(const ChannelShape& shape, const T* x, float* scratch, T* sums,
                       cuda::Stream stream) {
  if (shape.channels == 0) return;
  SumChannels<T>("ChannelSums", shape, stream, PlainSum<T>{x}, scratch, x);
  FinishChannels<1>("FinishChannelSums", shape.channels, ChannelSumParts(shape), scratch, stream,
                    [=] __device__(int64_t c, const double* total) {
                      sums[c] = Narrow<T>(static_cast<float>(total[0]));
                    });
}

template <typename T>
void LaunchChannelProducts(const ChannelShape& shape, const T* x, const T* g, const float* mean,
                           const float* inverse_std, float* scratch, float* first, float* second,
                           cuda::Stream stream) {
  if (shape.channels == 0) return;
  SumChannels<T>("ChannelProducts", shape, stream, Products<T>{x, g, mean}, scratch, x, g);
  FinishChannels<2>("FinishChannelProducts", shape.channels, ChannelSumParts(shape), scratch,
                    stream, [=] __device__(int64_t c, const double* total) {
                      first[c] = static_cast<float>(total[0]);
                      second[c] = static_cast<float>(total[1]) *
                                  (inverse_std != nullptr ? inverse_std[c] : 1.f);
                    });
}

#define INSTANTIATE(T)                                                                             \
  template void LaunchBatchNormStatistics<T>(const ChannelShape&, const T*,                        \
                                             const BatchNormStatistics&, float*, cuda::Stream);    \
  template void LaunchBatchNormApply<T>(const ChannelShape&, const T*, const float*, const float*, \
                                        bool, double, const float*, const float*, const T*, bool,  \
                                        T*, cuda::Stream);                                         \
  template void LaunchBatchNormGradient<T>(const ChannelShape&, const BatchNormGradient<T>&,       \
                                           float*, cuda::Stream);                                  \
  template void LaunchChannelEpilogue<T>(const ChannelShape&, const T*, const T*, bool, T*,        \
                                         cuda::Stream);                                            \
  template void LaunchChannelSums<T>(const ChannelShape&, const T*, float*, T*, cuda::Stream);     \
  template void LaunchChannelProducts<T>(const ChannelShape&, const T*, const T*, const float*,    \
                                         const float*, float*, float*, float*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
