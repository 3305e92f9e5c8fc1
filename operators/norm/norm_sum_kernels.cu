#include "operators/common/channel_walk.h"
#include "operators/norm/bn_params.h"
#include "operators/norm/norm_sum_kernels.h"

namespace caffe2 {
namespace {

// The sums of N pairs of normalized elements, with the same bits forward and backward.
template <typename T>
struct NormSum {
  TwoNormedImages<T> in;
  int64_t channels;

  template <int N>
  struct Of {
    float factor[N], z_factor[N], shift[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
    float z_shift[N];
    LoadChannels(in.bn_params + kFactorRow * channels, c, step, of.factor);
    LoadChannels(in.z_bn_params + kFactorRow * channels, c, step, of.z_factor);
    LoadChannels(in.bn_params + kShiftRow * channels, c, step, of.shift);
    LoadChannels(in.z_bn_params + kShiftRow * channels, c, step, z_shift);
#pragma unroll
    for (int k = 0; k < N; ++k) of.shift[k] += z_shift[k];
    return of;
  }
  template <int N>
  __device__ void Read(const Of<N>& of, int64_t i, float (&x)[N], float (&z)[N],
                       float (&sum)[N]) const {
    LoadPack(in.x + i, x);
    LoadPack(in.z + i, z);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sum[k] = x[k] * of.factor[k] + (z[k] * of.z_factor[k] + of.shift[k]);
    }
  }
};

template <typename T>
struct Forward {
  NormSum<T> norm_sum;
  T* y;

  template <int N>
  using Of = typename NormSum<T>::template Of<N>;
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    return norm_sum.template Begin<N>(c, step);
  }
  template <int N>
  __device__ void Do(const Of<N>& of, int64_t i) const {
    float x[N], z[N], sum[N];
    norm_sum.template Read<N>(of, i, x, z, sum);
#pragma unroll
    for (int k = 0; k < N; ++k) sum[k] = sum[k] < 0 ? 0.f : sum[k];
    StorePack(sum, y + i);
  }
};

// Sums of g, of g * (x - mean) and of g * (z - z's mean); writes g.
template <typename T>
struct Backward {
  static constexpr int kSums = 3;
  NormSum<T> norm_sum;
  const T* dy;
  T* g;

  template <int N>
  struct Of {
    typename NormSum<T>::template Of<N> sum;
    float mean[N], z_mean[N];
  };
  template <int N>
  __device__ Of<N> Begin(int64_t c, int step) const {
    Of<N> of;
    of.sum = norm_sum.template Begin<N>(c, step);
    LoadChannels(norm_sum.in.bn_params + kMeanRow * norm_sum.channels, c, step, of.mean);
    LoadChannels(norm_sum.in.z_bn_params + kMeanRow * norm_sum.channels, c, step, of.z_mean);
    return of;
  }
  template <int N>
  __device__ void Add(const Of<N>& of, int64_t i, Sums<3, N>* sums) const {
    float x[N], z[N], sum[N], d[N];
    LoadPack(dy + i, d);
    norm_sum.template Read<N>(of.sum, i, x, z, sum);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      d[k] = sum[k] > 0 ? d[k] : 0.f;
      sums->v[0][k] += d[k];
      sums->v[1][k] += d[k] * (x[k] - of.mean[k]);
      sums->v[2][k] += d[k] * (z[k] - of.z_mean[k]);
    }
    StorePack(d, g + i);
  }
};

}  // namespace

template <typename T>
void LaunchNormSumNormRelu(const ChannelShape& shape, const TwoNormedImages<T>& in, T* y,
                           cuda::Stream stream) {
  MapChannels<T>("NormSumNormRelu", shape, stream, Forward<T>{{in, shape.channels}, y}, in.x, in.z,
                 y);
}

template <typename T>
void LaunchNormSumNormReluGradient(const ChannelShape& shape, const TwoNormedImages<T>& in,
                                   const T* dy, T* g, float* d_bn_params, float* dz_bn_params,
                                   float* scratch, cuda::Stream stream) {
  const int64_t channels = shape.channels;
  if (channels == 0) return;
  SumChannels<T>("NormSumNormReluGradient", shape, stream, Backward<T>{{in, channels}, dy, g},
                 scratch, in.x, in.z, dy, g);
  const float *inverse_std = in.bn_params + kInverseStdRow * channels,
              *z_inverse_std = in.z_bn_params + kInverseStdRow * channels;
  FinishChannels<3>(
      "FinishNormSumGradient", channels, ChannelSumParts(shape), scratch, stream,
      [=] __device__(int64_t c, const double* total) {
        const auto sum = static_cast<float>(total[0]);
        d_bn_params[kDBiasRow * channels + c] = dz_bn_params[kDBiasRow * channels + c] = sum;
        d_bn_params[kDScaleRow * channels + c] = static_cast<float>(total[1]) * inverse_std[c];
        dz_bn_params[kDScaleRow * channels + c] = static_cast<float>(total[2]) * z_inverse_std[c];
      });
}

#define INSTANTIATE(T)                                                                           \
  template void LaunchNormSumNormRelu<T>(const ChannelShape&, const TwoNormedImages<T>&, T*,     \
                                         cuda::Stream);                                          \
  template void LaunchNormSumNormReluGradient<T>(const ChannelShape&, const TwoNormedImages<T>&, \
                                                 const T*, T*, float*, float*, float*,           \
                                                 cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
