#include "operators/norm/spatial_bn_kernels.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/tensor.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements per thread
constexpr int64_t kMaxBlocks = 64;   // partial sums; fixed, as the result depends on it
constexpr int64_t kChunk = 8192;     // elements that stay in cache between two passes
constexpr int64_t kMinChunkRows = 8;
constexpr int64_t kMinBlockRows = 32;  // keeps partial sums small compared with the image

// A parameter for a run of elements: one for each channel (NHWC) or one for all elements (NCHW).
struct Each {
  const float* values;
  CAFFE2_INLINE float operator[](int64_t i) const { return values[i]; }
};
struct Same {
  float value;
  CAFFE2_INLINE float operator[](int64_t) const { return value; }
};
struct Zero {
  CAFFE2_INLINE float operator[](int64_t) const { return 0; }
};

// Along one run of elements ---------------------------------------------------------------------

template <bool kAdd, bool kRelu, typename T, typename P>
CAFFE2_INLINE void NormalizeRun(int64_t n, const T* x, P mean, P scale, P bias, const T* z, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float value = (Widen(x[i]) - mean[i]) * scale[i] + bias[i];
    if (kAdd) value += Widen(z[i]);
    if (kRelu) value = value < 0 ? 0 : value;  // a NaN stays one
    Store(value, y + i);
  }
}
template <typename T, typename P>
CAFFE2_INLINE void NormalizeAnyRun(int64_t n, const T* x, P mean, P scale, P bias, const T* z,
                                   bool relu, T* y) {
  if (z != nullptr) {
    relu ? NormalizeRun<true, true>(n, x, mean, scale, bias, z, y)
         : NormalizeRun<true, false>(n, x, mean, scale, bias, z, y);
  } else {
    relu ? NormalizeRun<false, true>(n, x, mean, scale, bias, z, y)
         : NormalizeRun<false, false>(n, x, mean, scale, bias, z, y);
  }
}

template <bool kRelu, typename T, typename P>
CAFFE2_INLINE void InputGradientRun(int64_t n, const T* x, const T* dy, P mean, P scale, P bias,
                                    P a, P b, P c, T* dx) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float centred = Widen(x[i]) - mean[i];
    float g = Widen(dy[i]);
    if (kRelu) g = centred * scale[i] + bias[i] > 0 ? g : 0;
    Store(a[i] * g + b[i] * centred + c[i], dx + i);
  }
}

template <typename T, typename S>
CAFFE2_INLINE void SumRun(int64_t n, const T* x, S shift, float* sum) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) sum[i] += Widen(x[i]) - shift[i];
}
template <typename T, typename S, typename P>
CAFFE2_INLINE void SquareRun(int64_t n, const T* x, S shift, P mean, float* sum) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float centred = (Widen(x[i]) - shift[i]) - mean[i];
    sum[i] += centred * centred;
  }
}
template <ReluMask kMask, typename T, typename P>
CAFFE2_INLINE void GradientSumRun(int64_t n, const T* x, const T* dy, P mean, P scale, P bias,
                                  const T* y, T* dz, float* sum_g, float* sum_gx) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float centred = Widen(x[i]) - mean[i];
    float g = Widen(dy[i]);
    if (kMask == ReluMask::kFromX) g = centred * scale[i] + bias[i] > 0 ? g : 0;
    if (kMask == ReluMask::kFromY) {
      g = Widen(y[i]) > 0 ? g : 0;
      Store(g, dz + i);
    }
    sum_g[i] += g;
    sum_gx[i] += g * centred;
  }
}

// Over a span ---------------------------------------------------------------------------------

// NHWC: `rows` rows of `width` channels. NCHW: one row of `width` elements of one channel.
struct Span {
  int64_t rows;
  int64_t width;
  bool one_channel;
  int64_t channels() const { return one_channel ? 1 : width; }
};

// Independent sums of one channel, so that loops over it vectorize without reordering anything.
constexpr int64_t kLanes = 32;

// Calls run(begin, count, lanes) along the span, then adds up the lanes of each of `kSums` sums.
template <int kSums, typename Run>
CAFFE2_INLINE void SumLanes(int64_t n, const Run& run, float* totals) {
  float lanes[kSums][kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) run(i, kLanes, lanes);
  if (i < n) run(i, n - i, lanes);
  for (int k = 0; k < kSums; ++k) {
    for (float lane : lanes[k]) totals[k] += lane;
  }
}

// Adds a sample of `count` rows to mean and m2 (the sum of squared distances from the mean) of
// `before` rows, by the formula of Chan et al. for joining two samples.
CAFFE2_INLINE void Join(int64_t channels, float before, float count, const float* other_mean,
                        const float* other_m2, float* mean, float* m2) {
  if (before == 0) {  // the formula would multiply an infinite square by 0
    std::copy_n(other_mean, channels, mean);
    std::copy_n(other_m2, channels, m2);
    return;
  }
  const float part = count / (before + count);
  const float cross = before * part;
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    const float delta = other_mean[c] - mean[c];
    mean[c] += delta * part;
    m2[c] += other_m2[c] + delta * delta * cross;
  }
}

// Adds the span, less the shift, to moments of `before` elements a channel. scratch: two values a
// channel.
template <typename T, typename S>
CAFFE2_INLINE void AddMoments(const Span& span, const T* x, S shift, int64_t before, float* scratch,
                              float* mean, float* m2) {
  const int64_t channels = span.channels(), total = span.rows * span.width / channels;
  const int64_t chunk = std::max(kMinChunkRows, kChunk / channels);
  float* const chunk_mean = scratch;
  float* const chunk_m2 = scratch + channels;
  for (int64_t begin = 0; begin < total; begin += chunk) {
    const int64_t count = std::min(chunk, total - begin);
    const T* from = x + begin * channels;
    std::fill_n(scratch, 2 * channels, 0.f);
    if (span.one_channel) {
      SumLanes<1>(
          count, [=](int64_t i, int64_t n, auto& sums) { SumRun(n, from + i, shift, sums[0]); },
          chunk_mean);
      const Same centre{* chunk_mean /= static_cast<float>(count)};
      SumLanes<1>(
          count,
          [=](int64_t i, int64_t n, auto& sums) { SquareRun(n, from + i, shift, centre, sums[0]); },
          chunk_m2);
    } else {
      for (int64_t r = 0; r < count; ++r) SumRun(channels, from + r * channels, shift, chunk_mean);
      for (int64_t c = 0; c < channels; ++c) chunk_mean[c] /= static_cast<float>(count);
      for (int64_t r = 0; r < count; ++r) {
        SquareRun(channels, from + r * channels, shift, Each{chunk_mean}, chunk_m2);
      }
    }
    Join(channels, static_cast<float>(before + begin), static_cast<float>(count), chunk_mean,
         chunk_m2, mean, m2);
  }
}

template <typename T>
CAFFE2_INLINE void NormalizeSpan(const Span& span, const T* x, const float* mean,
                                 const float* scale, const float* bias, const T* z, bool relu,
                                 T* y) {
  if (span.one_channel) {
    NormalizeAnyRun(span.width, x, Same{*mean}, Same{*scale}, Same{*bias}, z, relu, y);
    return;
  }
  for (int64_t r = 0; r < span.rows; ++r) {
    const int64_t at = r * span.width;
    NormalizeAnyRun(span.width, x + at, Each{mean}, Each{scale}, Each{bias}, z ? z + at : nullptr,
                    relu, y + at);
  }
}

// `in` and dz point to the span's elements and channel.
template <ReluMask kMask, typename T>
CAFFE2_INLINE void MaskedGradientSums(const Span& span, const NormalizeGradient<T>& in, T* dz,
                                      float* sum_g, float* sum_gx) {
  constexpr bool kY = kMask == ReluMask::kFromY;
  const T *x = in.x, *dy = in.dy;
  if (span.one_channel) {
    const Same mean{*in.mean}, scale{in.scale ? *in.scale : 0}, bias{in.bias ? *in.bias : 0};
    float totals[2] = {};
    SumLanes<2>(
        span.width,
        [=](int64_t i, int64_t n, auto& sums) {
          GradientSumRun<kMask>(n, x + i, dy + i, mean, scale, bias, kY ? in.y + i : nullptr,
                                kY ? dz + i : nullptr, sums[0], sums[1]);
        },
        totals);
    *sum_g += totals[0];
    *sum_gx += totals[1];
    return;
  }
  for (int64_t r = 0; r < span.rows; ++r) {
    const int64_t at = r * span.width;
    GradientSumRun<kMask>(span.width, x + at, dy + at, Each{in.mean}, Each{in.scale}, Each{in.bias},
                          kY ? in.y + at : nullptr, kY ? dz + at : nullptr, sum_g, sum_gx);
  }
}
template <typename T>
CAFFE2_INLINE void AddGradientSums(const Span& span, const NormalizeGradient<T>& in, T* dz,
                                   float* sum_g, float* sum_gx) {
  switch (in.mask) {
    case ReluMask::kNone:
      return MaskedGradientSums<ReluMask::kNone>(span, in, dz, sum_g, sum_gx);
    case ReluMask::kFromX:
      return MaskedGradientSums<ReluMask::kFromX>(span, in, dz, sum_g, sum_gx);
    case ReluMask::kFromY:
      return MaskedGradientSums<ReluMask::kFromY>(span, in, dz, sum_g, sum_gx);
  }
}

template <bool kRelu, typename T>
CAFFE2_INLINE void InputGradientOfSpan(const Span& span, const NormalizeGradient<T>& in,
                                       const float* a, const float* b, const float* c, T* dx) {
  if (span.one_channel) {
    const Same scale{kRelu ? *in.scale : 0}, bias{kRelu ? *in.bias : 0};
    InputGradientRun<kRelu>(span.width, in.x, in.dy, Same{*in.mean}, scale, bias, Same{*a},
                            Same{*b}, Same{*c}, dx);
    return;
  }
  for (int64_t r = 0; r < span.rows; ++r) {
    const int64_t at = r * span.width;
    InputGradientRun<kRelu>(span.width, in.x + at, in.dy + at, Each{in.mean}, Each{in.scale},
                            Each{in.bias}, Each{a}, Each{b}, Each{c}, dx + at);
  }
}

// Clones cannot be templates: each type has its own entries.
CAFFE2_SIMD_CLONES void Moments(const Span& span, const float* x, int64_t before, float* scratch,
                                float* mean, float* m2) {
  AddMoments(span, x, Zero{}, before, scratch, mean, m2);
}
CAFFE2_SIMD_CLONES void ShiftedMoments(const Span& span, const float* x, const float* shift,
                                       int64_t before, float* scratch, float* mean, float* m2) {
  span.one_channel ? AddMoments(span, x, Same{*shift}, before, scratch, mean, m2)
                   : AddMoments(span, x, Each{shift}, before, scratch, mean, m2);
}
CAFFE2_SIMD_CLONES void Moments(const Span& span, const bfloat16* x, int64_t before, float* scratch,
                                float* mean, float* m2) {
  AddMoments(span, x, Zero{}, before, scratch, mean, m2);
}
CAFFE2_SIMD_CLONES void ShiftedMoments(const Span& span, const bfloat16* x, const float* shift,
                                       int64_t before, float* scratch, float* mean, float* m2) {
  span.one_channel ? AddMoments(span, x, Same{*shift}, before, scratch, mean, m2)
                   : AddMoments(span, x, Each{shift}, before, scratch, mean, m2);
}
CAFFE2_SIMD_CLONES void JoinMoments(int64_t channels, int64_t before, int64_t count,
                                    const float* other_mean, const float* other_m2, float* mean,
                                    float* m2) {
  Join(channels, static_cast<float>(before), static_cast<float>(count), other_mean, other_m2, mean,
       m2);
}
CAFFE2_SIMD_CLONES void Normalize(const Span& span, const float* x, const float* mean,
                                  const float* scale, const float* bias, const float* z, bool relu,
                                  float* y) {
  NormalizeSpan(span, x, mean, scale, bias, z, relu, y);
}
CAFFE2_SIMD_CLONES void Normalize(const Span& span, const bfloat16* x, const float* mean,
                                  const float* scale, const float* bias, const bfloat16* z,
                                  bool relu, bfloat16* y) {
  NormalizeSpan(span, x, mean, scale, bias, z, relu, y);
}
CAFFE2_SIMD_CLONES void GradientSums(const Span& span, const NormalizeGradient<float>& in,
                                     float* dz, float* sum_g, float* sum_gx) {
  AddGradientSums(span, in, dz, sum_g, sum_gx);
}
CAFFE2_SIMD_CLONES void GradientSums(const Span& span, const NormalizeGradient<bfloat16>& in,
                                     bfloat16* dz, float* sum_g, float* sum_gx) {
  AddGradientSums(span, in, dz, sum_g, sum_gx);
}
CAFFE2_SIMD_CLONES void InputGradient(const Span& span, const NormalizeGradient<float>& in,
                                      const float* a, const float* b, const float* c, float* dx) {
  in.mask == ReluMask::kFromX ? InputGradientOfSpan<true>(span, in, a, b, c, dx)
                              : InputGradientOfSpan<false>(span, in, a, b, c, dx);
}
CAFFE2_SIMD_CLONES void InputGradient(const Span& span, const NormalizeGradient<bfloat16>& in,
                                      const float* a, const float* b, const float* c,
                                      bfloat16* dx) {
  in.mask == ReluMask::kFromX ? InputGradientOfSpan<true>(span, in, a, b, c, dx)
                              : InputGradientOfSpan<false>(span, in, a, b, c, dx);
}

// Over the image ------------------------------------------------------------------------------

// Calls visit(span, offset of its first element, its first channel) for parts of the image.
template <typename Visit>
void ForEachSpan(const ChannelShape& s, const Visit& visit) {
  if (s.channels_last) {
    ParallelFor(s.PerChannel(), RowGrain(s.channels, kGrain), [&](int64_t begin, int64_t end) {
      visit(Span{end - begin, s.channels, false}, begin * s.channels, int64_t{0});
    });
    return;
  }
  ParallelFor(s.batch * s.channels, RowGrain(s.spatial, kGrain), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      visit(Span{1, s.spatial, true}, plane * s.spatial, plane % s.channels);
    }
  });
}

// NHWC in blocks of rows: calls visit(block, first row, rows) for each, in parallel. Returns the
// number of blocks, which depends on the shape alone.
template <typename Visit>
int64_t ForEachBlock(const ChannelShape& s, const Visit& visit) {
  const int64_t rows = s.PerChannel();
  const int64_t min = std::max(kMinBlockRows, kChunk / s.channels);
  const int64_t blocks = std::min(kMaxBlocks, (rows + min - 1) / min);
  const int64_t grain = std::max<int64_t>(1, kGrain * blocks / (rows * s.channels));
  ParallelFor(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = rows * block / blocks;
      visit(block, first, rows * (block + 1) / blocks - first);
    }
  });
  return blocks;
}

// NCHW: calls visit(channel, offset of a plane, index of the plane in its channel), channels in
// parallel.
template <typename Visit>
void ForEachPlane(const ChannelShape& s, const Visit& visit) {
  ParallelFor(s.channels, RowGrain(s.PerChannel(), kGrain), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t n = 0; n < s.batch; ++n) visit(c, (n * s.channels + c) * s.spatial, n);
    }
  });
}

// Uninitialized memory of this thread for partial results. It never shrinks. Worker threads write
// to the memory of the thread that called them.
float* ThreadBuffer(int64_t n) {
  thread_local std::vector<float> buffer;
  if (static_cast<int64_t>(buffer.size()) < n) buffer.resize(n);
  return buffer.data();
}

template <typename T>
NormalizeGradient<T> At(NormalizeGradient<T> in, int64_t offset, int64_t channel) {
  in.x += offset;
  in.dy += offset;
  in.mean += channel;
  if (in.scale != nullptr) in.scale += channel;
  if (in.bias != nullptr) in.bias += channel;
  if (in.y != nullptr) in.y += offset;
  return in;
}

// What to subtract from the values of a channel, so that their sums lose no digits: 0 unless the
// channel lies far from 0 compared with its spread. Looks at a few of its `count` elements.
template <typename T>
float ShiftOf(int64_t count, int64_t stride, const T* x) {
  constexpr int kSamples = 5;
  constexpr float kFar = 256;
  const float first = Widen(*x);
  float spread = 0;
  for (int k = 1; k < kSamples; ++k) {
    const float value = Widen(x[(count - 1) * k / (kSamples - 1) * stride]);
    spread = std::max(spread, std::fabs(value - first));
  }
  return std::isfinite(first) && std::fabs(first) > kFar * spread ? first : 0.f;
}

// Adds the span to moments, less the shift of each channel unless it is null.
template <typename T>
void AnyMoments(const Span& span, const T* x, const float* shift, int64_t before, float* scratch,
                float* mean, float* m2) {
  shift == nullptr ? Moments(span, x, before, scratch, mean, m2)
                   : ShiftedMoments(span, x, shift, before, scratch, mean, m2);
}

}  // namespace

ChannelShape ChannelShapeOf(const std::vector<int64_t>& dims, StorageOrder order) {
  const ImageShape image = ImageShape::FromDims(dims, order);
  CAFFE_ENFORCE(image.channels > 0, "an image of shape ", ShapeString(dims), " has no channels");
  ChannelShape shape{image.batch, image.channels, image.SpatialSize(),
                     order == StorageOrder::kNHWC};
  // With one element for each channel both orders are the same, and NHWC vectorizes.
  if (shape.spatial == 1) shape.channels_last = true;
  return shape;
}

template <typename T>
void ChannelMoments(const ChannelShape& shape, const T* x, float* mean, float* variance) {
  const int64_t channels = shape.channels, count = shape.PerChannel();
  std::fill_n(mean, channels, 0.f);
  std::fill_n(variance, channels, 0.f);
  float* const shift = ThreadBuffer((4 * kMaxBlocks + 1) * channels);
  if (shape.channels_last) {
    float* const partial = shift + channels;
    bool shifted = false;
    for (int64_t c = 0; c < channels; ++c) {
      shift[c] = ShiftOf(count, channels, x + c);
      shifted |= shift[c] != 0;
    }
    const int64_t blocks = ForEachBlock(shape, [&](int64_t block, int64_t first, int64_t rows) {
      float* own = partial + 4 * block * channels;
      std::fill_n(own, 2 * channels, 0.f);
      AnyMoments(Span{rows, channels, false}, x + first * channels, shifted ? shift : nullptr, 0,
                 own + 2 * channels, own, own + channels);
    });
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t first = count * block / blocks, end = count * (block + 1) / blocks;
      const float* own = partial + 4 * block * channels;
      JoinMoments(channels, first, end - first, own, own + channels, mean, variance);
    }
  } else {
    ForEachPlane(shape, [&](int64_t c, int64_t offset, int64_t n) {
      if (n == 0) shift[c] = ShiftOf(shape.spatial, 1, x + offset);
      float scratch[2];
      AnyMoments(Span{1, shape.spatial, true}, x + offset, shift[c] != 0 ? shift + c : nullptr,
                 n * shape.spatial, scratch, mean + c, variance + c);
    });
  }
  for (int64_t c = 0; c < channels; ++c) {
    if (shift[c] != 0) mean[c] += shift[c];
    variance[c] /= static_cast<float>(count);
  }
}

template <typename T>
void NormalizeChannels(const ChannelShape& shape, const T* x, const float* mean, const float* scale,
                       const float* bias, const T* z, bool relu, T* y) {
  ForEachSpan(shape, [=](const Span& span, int64_t offset, int64_t c) {
    Normalize(span, x + offset, mean + c, scale + c, bias + c, z ? z + offset : nullptr, relu,
              y + offset);
  });
}

template <typename T>
void ChannelGradientSums(const ChannelShape& shape, const NormalizeGradient<T>& in, float* sum_g,
                         float* sum_gx, T* dz) {
  const int64_t channels = shape.channels;
  std::fill_n(sum_g, channels, 0.f);
  std::fill_n(sum_gx, channels, 0.f);
  if (shape.PerChannel() == 0) return;
  if (!shape.channels_last) {
    ForEachPlane(shape, [&](int64_t c, int64_t offset, int64_t) {
      GradientSums(Span{1, shape.spatial, true}, At(in, offset, c), dz ? dz + offset : nullptr,
                   sum_g + c, sum_gx + c);
    });
    return;
  }
  float* partial = ThreadBuffer(2 * kMaxBlocks * channels);
  const int64_t blocks = ForEachBlock(shape, [&](int64_t block, int64_t first, int64_t rows) {
    float* own = partial + 2 * block * channels;
    std::fill_n(own, 2 * channels, 0.f);
    GradientSums(Span{rows, channels, false}, At(in, first * channels, 0),
                 dz ? dz + first * channels : nullptr, own, own + channels);
  });
  for (int64_t block = 0; block < blocks; ++block) {
    const float* own = partial + 2 * block * channels;
    for (int64_t c = 0; c < channels; ++c) {
      sum_g[c] += own[c];
      sum_gx[c] += own[channels + c];
    }
  }
}

template <typename T>
void NormalizeInputGradient(const ChannelShape& shape, const NormalizeGradient<T>& in,
                            const float* a, const float* b, const float* c, T* dx) {
  ForEachSpan(shape, [&](const Span& span, int64_t offset, int64_t channel) {
    InputGradient(span, At(in, offset, channel), a + channel, b + channel, c + channel,
                  dx + offset);
  });
}

#define CAFFE2_INSTANTIATE(T)                                                                 \
  template void ChannelMoments(const ChannelShape&, const T*, float*, float*);                \
  template void NormalizeChannels(const ChannelShape&, const T*, const float*, const float*,  \
                                  const float*, const T*, bool, T*);                          \
  template void ChannelGradientSums(const ChannelShape&, const NormalizeGradient<T>&, float*, \
                                    float*, T*);                                              \
  template void NormalizeInputGradient(const ChannelShape&, const NormalizeGradient<T>&,      \
                                       const float*, const float*, const float*, T*)
CAFFE2_INSTANTIATE(float);
CAFFE2_INSTANTIATE(bfloat16);

}  // namespace caffe2
