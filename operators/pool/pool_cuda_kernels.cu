#include <limits>

#include "caffe2/cuda/kernel.h"
#include "operators/pool/pool_cuda_kernels.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Pack;
using cuda::Widen;

// PoolLayout with indices of type I. A channel stands for all channels in one Pack.
template <typename I>
struct Geometry {
  bool channels_last, count_include_pad;
  I channels;
  I input[3], output[3], kernel[3], stride[3], pad[3];

  Geometry(const PoolLayout& layout, int pack)
      : channels_last(layout.channels_last),
        count_include_pad(layout.count_include_pad),
        channels(static_cast<I>(layout.channels / pack)) {
    for (int d = 0; d < 3; ++d) {
      input[d] = static_cast<I>(layout.input[d]);
      output[d] = static_cast<I>(layout.output[d]);
      kernel[d] = static_cast<I>(layout.kernel[d]);
      stride[d] = static_cast<I>(layout.stride[d]);
      pad[d] = static_cast<I>(layout.pad[d]);
    }
  }
};

// The position of an element in an image.
template <typename I>
struct Place {
  I n, c, at[3];
};
template <typename I>
__device__ inline Place<I> PlaceOf(const Geometry<I>& geometry, const I* axes, I index) {
  Place<I> place;
  if (geometry.channels_last) {
    place.c = index % geometry.channels;
    index /= geometry.channels;
  }
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    // Divisions take most of the time, so missing axes are skipped.
    if (axes[d] == 1) {
      place.at[d] = 0;
      continue;
    }
    place.at[d] = index % axes[d];
    index /= axes[d];
  }
  if (!geometry.channels_last) {
    place.c = index % geometry.channels;
    index /= geometry.channels;
  }
  place.n = index;
  return place;
}
// The element at the origin of the plane of (n, c), and the distance between neighbours.
template <typename I>
struct Plane {
  I origin, step;
};
template <typename I>
__device__ inline Plane<I> PlaneOf(const Geometry<I>& geometry, const I* axes,
                                   const Place<I>& place) {
  const I spatial = axes[0] * axes[1] * axes[2];
  if (geometry.channels_last) {
    return {place.n * spatial * geometry.channels + place.c, geometry.channels};
  }
  return {(place.n * geometry.channels + place.c) * spatial, 1};
}

template <typename I>
struct Range {
  I begin, end;
};
// The part of window `out` that lies inside the image.
template <typename I>
__device__ inline Range<I> Inside(const Geometry<I>& geometry, int d, I out) {
  const I begin = out * geometry.stride[d] - geometry.pad[d], end = begin + geometry.kernel[d];
  return {begin > 0 ? begin : 0, end < geometry.input[d] ? end : geometry.input[d]};
}
// The windows that hold input index `in`.
template <typename I>
__device__ inline Range<I> WindowsOf(const Geometry<I>& geometry, int d, I in) {
  const I stride = geometry.stride[d];
  I last = in + geometry.pad[d], first = last - geometry.kernel[d] + 1;
  if (stride != 1) {
    last /= stride;
    if (first > 0) first = (first + stride - 1) / stride;
  }
  return {first > 0 ? first : 0, last + 1 < geometry.output[d] ? last + 1 : geometry.output[d]};
}
// The factor from the sum of a window to its average.
template <typename I>
__device__ inline float Share(const Geometry<I>& geometry, I o0, I o1, I o2) {
  if (geometry.count_include_pad) {
    return 1.f / static_cast<float>(geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2]);
  }
  const Range<I> r0 = Inside(geometry, 0, o0), r1 = Inside(geometry, 1, o1),
                 r2 = Inside(geometry, 2, o2);
  return 1.f / static_cast<float>((r0.end - r0.begin) * (r1.end - r1.begin) * (r2.end - r2.begin));
}

template <bool kMax, typename I, typename T, int N>
void Forward(const PoolLayout& layout, int64_t n, const Pack<T, N>* x, Pack<T, N>* y,
             cuda::Stream stream) {
  const Geometry<I> geometry(layout, N);
  cuda::ForEach("Pool", n, stream, [=] __device__(int64_t i) {
    const Place<I> place = PlaceOf(geometry, geometry.output, static_cast<I>(i));
    const Plane<I> plane = PlaneOf(geometry, geometry.input, place);
    const Range<I> r0 = Inside(geometry, 0, place.at[0]), r1 = Inside(geometry, 1, place.at[1]),
                   r2 = Inside(geometry, 2, place.at[2]);
    float result[N];
#pragma unroll
    for (int k = 0; k < N; ++k) result[k] = kMax ? -INFINITY : 0.f;
    for (I a = r0.begin; a < r0.end; ++a) {
      for (I b = r1.begin; b < r1.end; ++b) {
        const I row = (a * geometry.input[1] + b) * geometry.input[2];
        for (I c = r2.begin; c < r2.end; ++c) {
          const Pack<T, N> pack = x[plane.origin + (row + c) * plane.step];
#pragma unroll
          for (int k = 0; k < N; ++k) {
            const float value = Widen(pack.v[k]);
            result[k] = kMax ? cuda::MaxOf()(result[k], value) : result[k] + value;
          }
        }
      }
    }
    const float share = kMax ? 1.f : Share(geometry, place.at[0], place.at[1], place.at[2]);
    Pack<T, N> pack;
#pragma unroll
    for (int k = 0; k < N; ++k) pack.v[k] = Narrow<T>(kMax ? result[k] : result[k] * share);
    y[i] = pack;
  });
}

template <bool kMax, typename I, typename T, int N>
void Backward(const PoolLayout& layout, int64_t n, const Pack<T, N>* x, const Pack<T, N>* y,
              const Pack<T, N>* dy, Pack<T, N>* dx, cuda::Stream stream) {
  const Geometry<I> geometry(layout, N);
  cuda::ForEach("PoolGradient", n, stream, [=] __device__(int64_t i) {
    const Place<I> place = PlaceOf(geometry, geometry.input, static_cast<I>(i));
    const Plane<I> plane = PlaneOf(geometry, geometry.output, place);
    const Range<I> w0 = WindowsOf(geometry, 0, place.at[0]),
                   w1 = WindowsOf(geometry, 1, place.at[1]),
                   w2 = WindowsOf(geometry, 2, place.at[2]);
    Pack<T, N> own;
    if (kMax) own = x[i];
    float sum[N] = {};
    for (I a = w0.begin; a < w0.end; ++a) {
      for (I b = w1.begin; b < w1.end; ++b) {
        const I row = (a * geometry.output[1] + b) * geometry.output[2];
        for (I c = w2.begin; c < w2.end; ++c) {
          const I j = plane.origin + (row + c) * plane.step;
          const Pack<T, N> gradient = dy[j];
          if (kMax) {
            const Pack<T, N> maximum = y[j];
#pragma unroll
            for (int k = 0; k < N; ++k) {
              if (Widen(maximum.v[k]) == Widen(own.v[k])) sum[k] += Widen(gradient.v[k]);
            }
          } else {
            const float share = Share(geometry, a, b, c);
#pragma unroll
            for (int k = 0; k < N; ++k) sum[k] += Widen(gradient.v[k]) * share;
          }
        }
      }
    }
    Pack<T, N> pack;
#pragma unroll
    for (int k = 0; k < N; ++k) pack.v[k] = Narrow<T>(sum[k]);
    dx[i] = pack;
  });
}

int64_t Elements(const PoolLayout& layout, const int64_t* axes) {
  return layout.batch * layout.channels * axes[0] * axes[1] * axes[2];
}

// Calls run(index of the type for positions, number of elements in a Pack). Positions are 32-bit if
// they fit, because divisions are slow; a Pack has 16 bytes if channels are innermost.
template <typename T, class F>
void Choose(const PoolLayout& layout, bool aligned, const F& run) {
  constexpr int kPack = 16 / sizeof(T);
  // The largest values of positions: a window may begin before the image and end after it.
  const int64_t largest = std::max(Elements(layout, layout.input), Elements(layout, layout.output));
  constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max() / 2;
  bool small = largest < kMaxExtent && layout.kernel[0] * layout.kernel[1] < kMaxExtent &&
               layout.kernel[0] * layout.kernel[1] * layout.kernel[2] < kMaxExtent;
  for (int d = 0; d < 3; ++d)
    small = small && layout.stride[d] < kMaxExtent && layout.pad[d] < kMaxExtent;
  if (layout.channels_last && aligned && layout.channels % kPack == 0) {
    const std::integral_constant<int, kPack> pack;
    return small ? run(int32_t{}, pack) : run(int64_t{}, pack);
  }
  const std::integral_constant<int, 1> one;
  small ? run(int32_t{}, one) : run(int64_t{}, one);
}
template <int N, typename T>
const Pack<T, N>* AsPacks(const T* data) {
  return reinterpret_cast<const Pack<T, N>*>(data);
}
template <int N, typename T>
Pack<T, N>* AsPacks(T* data) {
  return reinterpret_cast<Pack<T, N>*>(data);
}

}  // namespace

template <typename T>
void LaunchPool(const PoolLayout& layout, const T* x, T* y, cuda::Stream stream) {
  const bool aligned = cuda::IsAligned(x) && cuda::IsAligned(y);
  Choose<T>(layout, aligned, [&]<typename I, int N>(I, std::integral_constant<int, N>) {
    const auto forward = layout.max ? Forward<true, I, T, N> : Forward<false, I, T, N>;
    forward(layout, Elements(layout, layout.output) / N, AsPacks<N>(x), AsPacks<N>(y), stream);
  });
}
template <typename T>
void LaunchPoolGradient(const PoolLayout& layout, const T* x, const T* y, const T* dy, T* dx,
                        cuda::Stream stream) {
  const bool aligned =
      cuda::IsAligned(x) && cuda::IsAligned(y) && cuda::IsAligned(dy) && cuda::IsAligned(dx);
  Choose<T>(layout, aligned, [&]<typename I, int N>(I, std::integral_constant<int, N>) {
    const auto backward = layout.max ? Backward<true, I, T, N> : Backward<false, I, T, N>;
    backward(layout, Elements(layout, layout.input) / N, AsPacks<N>(x), AsPacks<N>(y),
             AsPacks<N>(dy), AsPacks<N>(dx), stream);
  });
}

#define INSTANTIATE(T)                                                                     \
  template void LaunchPool<T>(const PoolLayout&, const T*, T*, cuda::Stream);              \
  template void LaunchPoolGradient<T>(const PoolLayout&, const T*, const T*, const T*, T*, \
                                      cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
