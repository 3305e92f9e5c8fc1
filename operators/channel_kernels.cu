#include "caffe2/cuda/kernel.h"
#include "operators/channel_kernels.h"

namespace caffe2 {
namespace {

using cuda::kThreads;
using cuda::Narrow;
using cuda::Pack;
using cuda::Widen;

constexpr int kStrip = 32;  // channels a block sums where they are innermost
constexpr int kLanes = 8;
constexpr int64_t kPerPart = 512;  // elements of a channel, at least, in a part
constexpr int64_t kMostParts = 128;
constexpr int kChannelArrays = 4;  // values a channel that the gradient keeps in scratch

int64_t PartsFor(const ChannelLayout& layout) {
  const int64_t count = layout.batch * layout.spatial;
  const int64_t blocks =
      layout.channels_last ? (layout.channels + kStrip - 1) / kStrip : layout.channels;
  const int64_t wanted = cuda::kMostBlocks / std::max<int64_t>(1, blocks);
  return std::max<int64_t>(1, std::min({wanted, kMostParts, (count + kPerPart - 1) / kPerPart}));
}

struct Pair {
  float first, second;
};

// sums[part * channels + c] and the same `parts * channels` later: the sums of both values of
// f(element index, c) over a part of the elements of channel c.
template <class F>
__global__ void StripPairSumKernel(int64_t rows, int64_t channels, int64_t rows_per_part,
                                   int64_t second, F f, float* sums) {
  __shared__ Pair partial[kLanes][kStrip];
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kStrip + threadIdx.x;
  const int64_t begin = blockIdx.y * rows_per_part;
  const int64_t end = begin + rows_per_part < rows ? begin + rows_per_part : rows;
  Pair sum{0, 0};
  if (c < channels) {
    for (int64_t i = begin + threadIdx.y; i < end; i += kLanes) {
      const Pair value = f(i * channels + c, c);
      sum.first += value.first;
      sum.second += value.second;
    }
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= channels) return;
  for (int lane = 1; lane < kLanes; ++lane) {
    sum.first += partial[lane][threadIdx.x].first;
    sum.second += partial[lane][threadIdx.x].second;
  }
  sums[blockIdx.y * channels + c] = sum.first;
  sums[second + blockIdx.y * channels + c] = sum.second;
}

template <class F>
__global__ void PlanePairSumKernel(int64_t count, int64_t channels, int64_t spatial,
                                   int64_t per_part, int64_t second, F f, float* sums) {
  const int64_t c = blockIdx.x;
  const int64_t begin = blockIdx.y * per_part;
  const int64_t end = begin + per_part < count ? begin + per_part : count;
  Pair sum{0, 0};
  for (int64_t e = begin + threadIdx.x; e < end; e += kThreads) {
    const Pair value = f((e / spatial * channels + c) * spatial + e % spatial, c);
    sum.first += value.first;
    sum.second += value.second;
  }
  sum.first = cuda::BlockSum<kThreads>(sum.first);
  sum.second = cuda::BlockSum<kThreads>(sum.second);
  if (threadIdx.x != 0) return;
  sums[blockIdx.y * channels + c] = sum.first;
  sums[second + blockIdx.y * channels + c] = sum.second;
}

template <class F>
void SumPairs(const char* name, const ChannelLayout& layout, int64_t parts, F f, float* sums,
              cuda::Stream stream) {
  const int64_t count = layout.batch * layout.spatial;
  const int64_t per_part = (count + parts - 1) / parts, second = parts * layout.channels;
  const auto part_count = static_cast<unsigned>(parts);
  if (layout.channels_last) {
    const auto strips = static_cast<unsigned>((layout.channels + kStrip - 1) / kStrip);
    cuda::Launch(name, StripPairSumKernel<F>, dim3(strips, part_count), dim3(kStrip, kLanes),
                 stream, count, layout.channels, per_part, second, f, sums);
  } else {
    cuda::Launch(name, PlanePairSumKernel<F>,
                 dim3(static_cast<unsigned>(layout.channels), part_count), kThreads, stream, count,
                 layout.channels, layout.spatial, per_part, second, f, sums);
  }
}

__device__ inline double AddParts(const float* sums, int64_t parts, int64_t channels, int64_t c) {
  double sum = 0;
  for (int64_t part = 0; part < parts; ++part) sum += sums[part * channels + c];
  return sum;
}

__device__ inline float InverseStd(float spread, bool is_variance, double epsilon) {
  return is_variance ? static_cast<float>(1.0 / sqrt(spread + epsilon)) : spread;
}

// y[i] = f(i's channel, x[i]...), N elements at once; all of a pack are of one channel, or of
// neighbouring ones where channels are innermost.
template <int N, class F, typename R, typename... T>
__device__ inline void MapChannelPack(const F& f, int64_t c, int step, Pack<R, N>* y,
                                      Pack<T, N>... x) {
  Pack<R, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.v[k] = Narrow<R>(f(c + k * step, Widen(x.v[k])...));
  *y = result;
}
template <int N, class F, typename R, typename... T>
__global__ void MapChannelsKernel(int64_t packs, ChannelLayout layout, F f, R* y, const T*... x) {
  const int64_t run = layout.channels_last ? layout.channels : layout.spatial;
  for (int64_t p = cuda::GlobalThread(); p < packs; p += cuda::GlobalThreads()) {
    const int64_t i = p * N;
    const int64_t c = layout.channels_last ? i % run : i / run % layout.channels;
    MapChannelPack<N>(f, c, layout.channels_last ? 1 : 0, reinterpret_cast<Pack<R, N>*>(y) + p,
                      reinterpret_cast<const Pack<T, N>*>(x)[p]...);
  }
}
template <class F, typename R, typename... T>
void MapChannels(const char* name, const ChannelLayout& layout, cuda::Stream stream, F f, R* y,
                 const T*... x) {
  const int64_t n = layout.batch * layout.channels * layout.spatial;
  if (n == 0) return;
  constexpr int kPack = static_cast<int>(16 / sizeof(R));
  const int64_t run = layout.channels_last ? layout.channels : layout.spatial;
  const bool packed = run % kPack == 0 && (cuda::IsAligned(y) && ... && cuda::IsAligned(x));
  if (packed) {
    cuda::Launch(name, MapChannelsKernel<kPack, F, R, T...>, cuda::BlocksFor(n / kPack), kThreads,
                 stream, n / kPack, layout, f, y, x...);
  } else {
    cuda::Launch(name, MapChannelsKernel<1, F, R, T...>, cuda::BlocksFor(n), kThreads, stream, n,
                 layout, f, y, x...);
  }
}

// The first element of channel c: a value near its mean, so that sums of squares lose no digits.
template <typename T>
__device__ inline float ShiftOf(const ChannelLayout& layout, const T* x, int64_t c) {
  return Widen(x[layout.channels_last ? c : c * layout.spatial]);
}

template <typename T>
__device__ inline float MaskedGradient(const BatchNormGradient<T>& in, const float* factor,
                                       int64_t c, float x, float dy, float y) {
  if (in.y != nullptr) return y > 0 ? dy : 0.f;
  if (in.bias == nullptr) return dy;
  return (x - in.mean[c]) * factor[c] + in.bias[c] > 0 ? dy : 0.f;
}

// Where the gradient keeps its values of a channel.
struct GradientFactors {
  float *inverse_std, *factor, *by_x, *constant;
};

template <typename T>
void SumGradients(const ChannelLayout& layout, const BatchNormGradient<T>& in,
                  const GradientFactors& to, int64_t parts, float* sums, cuda::Stream stream) {
  const float* factor = to.factor;
  SumPairs(
      "BatchNormGradientSums", layout, parts,
      [=] __device__(int64_t i, int64_t c) {
        const float x = Widen(in.x[i]);
        const float g = MaskedGradient(in, factor, c, x, Widen(in.dy[i]),
                                       in.y != nullptr ? Widen(in.y[i]) : 0.f);
        if (in.dz != nullptr) in.dz[i] = Narrow<T>(g);
        return Pair{g, g * (x - in.mean[c])};
      },
      sums, stream);
}

template <typename T>
void FinishGradientSums(const ChannelLayout& layout, const BatchNormGradient<T>& in,
                        const GradientFactors& to, int64_t parts, const float* sums,
                        cuda::Stream stream) {
  const int64_t channels = layout.channels, count = layout.batch * layout.spatial;
  cuda::ForEach("BatchNormGradientFactors", channels, stream, [=] __device__(int64_t c) {
    float dscale = 0, dbias = 0;
    if (count == 0) {
      // An empty batch has no share in sums of several either.
    } else if (in.sum_dscale != nullptr) {
      dscale = in.sum_dscale[c] / static_cast<float>(in.num_batches);
      dbias = in.sum_dbias[c] / static_cast<float>(in.num_batches);
    } else {
      dbias = static_cast<float>(AddParts(sums, parts, channels, c));
      dscale = static_cast<float>(AddParts(sums + parts * channels, parts, channels, c)) *
               to.inverse_std[c];
    }
    in.dscale[c] = dscale;
    in.dbias[c] = dbias;
    const bool constants = in.is_variance || count == 0;
    const float per_element = constants ? 0.f : static_cast<float>(1.0 / count);
    to.by_x[c] = -to.factor[c] * to.inverse_std[c] * dscale * per_element;
    to.constant[c] = -to.factor[c] * dbias * per_element;
  });
}

// dx = factor * g + by_x * (x - mean) + constant.
template <typename T>
void ApplyGradient(const ChannelLayout& layout, const BatchNormGradient<T>& in,
                   const GradientFactors& to, cuda::Stream stream) {
  const float *mean = in.mean, *factor = to.factor, *by_x = to.by_x, *constant = to.constant;
  const BatchNormGradient<T> mask = in;
  if (in.y != nullptr) {  // dz has gone through the mask
    MapChannels(
        "BatchNormGradient", layout, stream,
        [=] __device__(int64_t c, float x, float g) {
          return factor[c] * g + by_x[c] * (x - mean[c]) + constant[c];
        },
        in.dx, in.x, static_cast<const T*>(in.dz));
    return;
  }
  MapChannels(
      "BatchNormGradient", layout, stream,
      [=] __device__(int64_t c, float x, float dy) {
        const float g = MaskedGradient(mask, factor, c, x, dy, 0.f);
        return factor[c] * g + by_x[c] * (x - mean[c]) + constant[c];
      },
      in.dx, in.x, in.dy);
}

}  // namespace

int64_t BatchNormScratch(const ChannelLayout& layout) {
  return (2 * PartsFor(layout) + kChannelArrays) * layout.channels;
}

template <typename T>
void LaunchBatchNormStatistics(const ChannelLayout& layout, const T* x,
                               const BatchNormStatistics& to, float* scratch, cuda::Stream stream) {
  const int64_t channels = layout.channels, parts = PartsFor(layout);
  if (channels == 0) return;
  if (to.sums == nullptr) {
    SumPairs(
        "BatchNormSums", layout, parts,
        [=] __device__(int64_t i, int64_t c) {
          const float v = Widen(x[i]) - ShiftOf(layout, x, c);
          return Pair{v, v * v};
        },
        scratch, stream);
  }
  cuda::ForEach("BatchNormStatistics", channels, stream, [=] __device__(int64_t c) {
    double shift = 0, sum, squares;
    if (to.sums != nullptr) {
      sum = to.sums[c];
      squares = to.square_sums[c];
    } else {
      shift = ShiftOf(layout, x, c);
      sum = AddParts(scratch, parts, channels, c);
      squares = AddParts(scratch + parts * channels, parts, channels, c);
    }
    const double mean = sum / to.count;
    const double difference = squares / to.count - mean * mean;
    const auto variance = static_cast<float>(difference > 0 ? difference : 0);
    const float batch_mean = static_cast<float>(mean + shift);
    // The running variance estimates that of the population.
    const auto unbiased = static_cast<float>(to.count / (to.count > 2 ? to.count - 1 : 1));
    to.saved_mean[c] = batch_mean;
    to.saved_inverse_std[c] = InverseStd(variance, true, to.epsilon);
    to.running_mean[c] = to.momentum * to.running_mean[c] + (1 - to.momentum) * batch_mean;
    to.running_variance[c] =
        to.momentum * to.running_variance[c] + (1 - to.momentum) * unbiased * variance;
  });
}

template <typename T>
void LaunchBatchNormApply(const ChannelLayout& layout, const T* x, const float* mean,
                          const float* spread, bool is_variance, double epsilon, const float* scale,
                          const float* bias, const T* z, bool relu, T* y, cuda::Stream stream) {
  const auto normalize = [=] __device__(int64_t c, float v) {
    const float value =
        (v - mean[c]) * (scale[c] * InverseStd(spread[c], is_variance, epsilon)) + bias[c];
    return relu && value < 0 ? 0.f : value;
  };
  const auto add = [=] __device__(int64_t c, float v, float residual) {
    const float value = (v - mean[c]) * (scale[c] * InverseStd(spread[c], is_variance, epsilon)) +
                        bias[c] + residual;
    return relu && value < 0 ? 0.f : value;
  };
  if (z == nullptr) {
    MapChannels("BatchNorm", layout, stream, normalize, y, x);
  } else {
    MapChannels("BatchNormAdd", layout, stream, add, y, x, z);
  }
}

template <typename T>
void LaunchBatchNormGradient(const ChannelLayout& layout, const BatchNormGradient<T>& gradient,
                             float* scratch, cuda::Stream stream) {
  const int64_t channels = layout.channels, parts = PartsFor(layout);
  if (channels == 0) return;
  const GradientFactors to{scratch, scratch + channels, scratch + 2 * channels,
                           scratch + 3 * channels};
  float* sums = scratch + kChannelArrays * channels;
  const BatchNormGradient<T> in = gradient;
  cuda::ForEach("BatchNormFactors", channels, stream, [=] __device__(int64_t c) {
    to.inverse_std[c] = InverseStd(in.spread[c], in.is_variance, in.epsilon);
    to.factor[c] = in.scale[c] * to.inverse_std[c];
  });
  if (in.sum_dscale == nullptr) SumGradients(layout, in, to, parts, sums, stream);
  FinishGradientSums(layout, in, to, parts, sums, stream);
  if (in.dx != nullptr) ApplyGradient(layout, in, to, stream);
}

void LaunchNormRows(int64_t channels, const float* scale, const float* bias, float* norm,
                    cuda::Stream stream) {
  cuda::ForEach("NormRows", channels, stream, [=] __device__(int64_t c) {
    const float mean = norm[c], inverse_std = norm[channels + c];
    const float factor = scale[c] * inverse_std;
    norm[2 * channels + c] = scale[c];
    norm[3 * channels + c] = bias[c];
    norm[4 * channels + c] = factor;
    norm[5 * channels + c] = bias[c] - mean * factor;
  });
}

template <typename T>
void LaunchChannelEpilogue(const ChannelLayout& layout, const T* bias, const T* z, bool relu, T* y,
                           cuda::Stream stream) {
  const auto finish = [=] __device__(int64_t c, float v) {
    const float value = bias != nullptr ? v + Widen(bias[c]) : v;
    return relu && value < 0 ? 0.f : value;
  };
  const auto add = [=] __device__(int64_t c, float v, float residual) {
    const float value = (bias != nullptr ? v + Widen(bias[c]) : v) + residual;
    return relu && value < 0 ? 0.f : value;
  };
  if (z == nullptr) {
    MapChannels("ChannelEpilogue", layout, stream, finish, y, static_cast<const T*>(y));
  } else {
    MapChannels("ChannelEpilogueAdd", layout, stream, add, y, static_cast<const T*>(y), z);
  }
}

template <typename T>
void LaunchChannelSums(const ChannelLayout& layout, const T* x, float* scratch, T* sums,
                       cuda::Stream stream) {
  const int64_t channels = layout.channels, parts = PartsFor(layout);
  if (channels == 0) return;
  SumPairs(
      "ChannelSums", layout, parts,
      [=] __device__(int64_t i, int64_t) {
        return Pair{Widen(x[i]), 0.f};
      },
      scratch, stream);
  cuda::ForEach("FinishChannelSums", channels, stream, [=] __device__(int64_t c) {
    sums[c] = Narrow<T>(static_cast<float>(AddParts(scratch, parts, channels, c)));
  });
}

template <typename T>
void LaunchChannelProducts(const ChannelLayout& layout, const T* x, const T* g, const float* mean,
                           const float* inverse_std, float* scratch, float* first, float* second,
                           cuda::Stream stream) {
  const int64_t channels = layout.channels, parts = PartsFor(layout);
  if (channels == 0) return;
  SumPairs(
      "ChannelProducts", layout, parts,
      [=] __device__(int64_t i, int64_t c) {
        const float v = Widen(x[i]) - (mean != nullptr ? mean[c] : 0.f), d = Widen(g[i]);
        return Pair{d, d * v};
      },
      scratch, stream);
  cuda::ForEach("FinishChannelProducts", channels, stream, [=] __device__(int64_t c) {
    first[c] = static_cast<float>(AddParts(scratch, parts, channels, c));
    second[c] = static_cast<float>(AddParts(scratch + parts * channels, parts, channels, c)) *
                (inverse_std != nullptr ? inverse_std[c] : 1.f);
  });
}

#define INSTANTIATE(T)                                                                           \
  template void LaunchBatchNormStatistics<T>(const ChannelLayout&, const T*,                     \
                                             const BatchNormStatistics&, float*, cuda::Stream);  \
  template void LaunchBatchNormApply<T>(const ChannelLayout&, const T*, const float*,            \
                                        const float*, bool, double, const float*, const float*,  \
                                        const T*, bool, T*, cuda::Stream);                       \
  template void LaunchBatchNormGradient<T>(const ChannelLayout&, const BatchNormGradient<T>&,    \
                                           float*, cuda::Stream);                                \
  template void LaunchChannelEpilogue<T>(const ChannelLayout&, const T*, const T*, bool, T*,     \
                                         cuda::Stream);                                          \
  template void LaunchChannelSums<T>(const ChannelLayout&, const T*, float*, T*, cuda::Stream);  \
  template void LaunchChannelProducts<T>(const ChannelLayout&, const T*, const T*, const float*, \
                                         const float*, float*, float*, float*, cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
