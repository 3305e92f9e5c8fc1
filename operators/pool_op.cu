#include "caffe2/cuda/kernel.h"
#include "operators/pool_cuda_kernels.h"

namespace caffe2 {
namespace {

using cuda::Narrow;
using cuda::Widen;

// Where an element of an image of these spatial axes lies.
struct Place {
  int64_t n, c, at[3];
};
__device__ inline Place PlaceOf(const PoolLayout& layout, const int64_t* axes, int64_t index) {
  Place place;
  if (layout.channels_last) {
    place.c = index % layout.channels;
    index /= layout.channels;
  }
  for (int d = 2; d >= 0; --d) {
    place.at[d] = index % axes[d];
    index /= axes[d];
  }
  if (!layout.channels_last) {
    place.c = index % layout.channels;
    index /= layout.channels;
  }
  place.n = index;
  return place;
}
// The element at the origin of the plane of (n, c), and how far its neighbours lie apart.
struct Plane {
  int64_t origin, step;
};
__device__ inline Plane PlaneOf(const PoolLayout& layout, const int64_t* axes, const Place& place) {
  const int64_t spatial = axes[0] * axes[1] * axes[2];
  if (layout.channels_last) {
    return {place.n * spatial * layout.channels + place.c, layout.channels};
  }
  return {(place.n * layout.channels + place.c) * spatial, 1};
}

struct Range {
  int64_t begin, end;
};
// The part of window `out` that lies inside the image.
__device__ inline Range Inside(const PoolLayout& layout, int d, int64_t out) {
  const int64_t begin = out * layout.stride[d] - layout.pad[d], end = begin + layout.kernel[d];
  return {begin > 0 ? begin : 0, end < layout.input[d] ? end : layout.input[d]};
}
// The windows that hold input index `in`.
__device__ inline Range WindowsOf(const PoolLayout& layout, int d, int64_t in) {
  const int64_t last = (in + layout.pad[d]) / layout.stride[d];
  const int64_t least = in + layout.pad[d] - layout.kernel[d] + 1;
  return {least <= 0 ? 0 : (least + layout.stride[d] - 1) / layout.stride[d],
          last + 1 < layout.output[d] ? last + 1 : layout.output[d]};
}
// What a window's sum is multiplied with.
__device__ inline float Share(const PoolLayout& layout, int64_t o0, int64_t o1, int64_t o2) {
  if (layout.count_include_pad) {
    return 1.f / static_cast<float>(layout.kernel[0] * layout.kernel[1] * layout.kernel[2]);
  }
  const Range r0 = Inside(layout, 0, o0), r1 = Inside(layout, 1, o1), r2 = Inside(layout, 2, o2);
  return 1.f / static_cast<float>((r0.end - r0.begin) * (r1.end - r1.begin) * (r2.end - r2.begin));
}

template <bool kMax, typename T>
void Forward(const PoolLayout& layout, const T* x, T* y, cuda::Stream stream) {
  const int64_t n =
      layout.batch * layout.channels * layout.output[0] * layout.output[1] * layout.output[2];
  cuda::ForEach("Pool", n, stream, [=] __device__(int64_t i) {
    const Place place = PlaceOf(layout, layout.output, i);
    const Plane plane = PlaneOf(layout, layout.input, place);
    const Range r0 = Inside(layout, 0, place.at[0]), r1 = Inside(layout, 1, place.at[1]),
                r2 = Inside(layout, 2, place.at[2]);
    float result = kMax ? -INFINITY : 0.f;
    for (int64_t a = r0.begin; a < r0.end; ++a) {
      for (int64_t b = r1.begin; b < r1.end; ++b) {
        const int64_t row = (a * layout.input[1] + b) * layout.input[2];
        for (int64_t c = r2.begin; c < r2.end; ++c) {
          const float value = Widen(x[plane.origin + (row + c) * plane.step]);
          result = kMax ? cuda::MaxOf()(result, value) : result + value;
        }
      }
    }
    if (!kMax) result *= Share(layout, place.at[0], place.at[1], place.at[2]);
    y[i] = Narrow<T>(result);
  });
}

template <bool kMax, typename T>
void Backward(const PoolLayout& layout, const T* x, const T* y, const T* dy, T* dx,
              cuda::Stream stream) {
  const int64_t n =
      layout.batch * layout.channels * layout.input[0] * layout.input[1] * layout.input[2];
  cuda::ForEach("PoolGradient", n, stream, [=] __device__(int64_t i) {
    const Place place = PlaceOf(layout, layout.input, i);
    const Plane plane = PlaneOf(layout, layout.output, place);
    const Range w0 = WindowsOf(layout, 0, place.at[0]), w1 = WindowsOf(layout, 1, place.at[1]),
                w2 = WindowsOf(layout, 2, place.at[2]);
    const float own = kMax ? Widen(x[i]) : 0.f;
    float sum = 0;
    for (int64_t a = w0.begin; a < w0.end; ++a) {
      for (int64_t b = w1.begin; b < w1.end; ++b) {
        const int64_t row = (a * layout.output[1] + b) * layout.output[2];
        for (int64_t c = w2.begin; c < w2.end; ++c) {
          const int64_t j = plane.origin + (row + c) * plane.step;
          if (kMax) {
            if (Widen(y[j]) == own) sum += Widen(dy[j]);
          } else {
            sum += Widen(dy[j]) * Share(layout, a, b, c);
          }
        }
      }
    }
    dx[i] = Narrow<T>(sum);
  });
}

}  // namespace

template <typename T>
void LaunchPool(const PoolLayout& layout, const T* x, T* y, cuda::Stream stream) {
  layout.max ? Forward<true>(layout, x, y, stream) : Forward<false>(layout, x, y, stream);
}
template <typename T>
void LaunchPoolGradient(const PoolLayout& layout, const T* x, const T* y, const T* dy, T* dx,
                        cuda::Stream stream) {
  layout.max ? Backward<true>(layout, x, y, dy, dx, stream)
             : Backward<false>(layout, x, y, dy, dx, stream);
}

#define INSTANTIATE(T)                                                                     \
  template void LaunchPool<T>(const PoolLayout&, const T*, T*, cuda::Stream);              \
  template void LaunchPoolGradient<T>(const PoolLayout&, const T*, const T*, const T*, T*, \
                                      cuda::Stream)
INSTANTIATE(float);
INSTANTIATE(float16);
INSTANTIATE(bfloat16);

}  // namespace caffe2
