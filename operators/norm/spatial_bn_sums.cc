// Sums over the channels of an image: moments, and the sums of the backward pass.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/norm/spatial_bn_spans.h"

namespace caffe2 {
namespace {

constexpr int64_t kMaxBlocks = 64;  // partial sums; fixed, as the result depends on it
constexpr int64_t kChunk = 8192;    // elements that stay in cache between two passes
constexpr int64_t kMinChunkRows = 8;
constexpr int64_t kMinBlockRows = 32;  // keeps partial sums small compared with the image

// Along runs of elements ------------------------------------------------------------------------

// Loops over kRows rows, which lie `step` elements apart, add them in order. They take several rows
// at once, because the next addition to a sum in memory waits for the last one to get there.
constexpr int kMomentRows = 8;
constexpr int kGradientRows = 4;

template <int kRows, typename T, typename S>
CAFFE2_INLINE void SumRun(int64_t n, int64_t step, const T* x, S shift, float* sum) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float all = sum[i];
#pragma GCC unroll 8
    for (int k = 0; k < kRows; ++k) all += Widen(x[k * step + i]) - shift[i];
    sum[i] = all;
  }
}
template <int kRows, typename T, typename S, typename P>
CAFFE2_INLINE void SquareRun(int64_t n, int64_t step, const T* x, S shift, P mean, float* sum) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float all = sum[i];
#pragma GCC unroll 8
    for (int k = 0; k < kRows; ++k) {
      const float centred = (Widen(x[k * step + i]) - shift[i]) - mean[i];
      all += centred * centred;
    }
    sum[i] = all;
  }
}
template <int kRows, ReluMask kMask, typename T, typename P>
CAFFE2_INLINE void GradientSumRun(int64_t n, int64_t step, const T* x, const T* dy, P mean, P scale,
                                  P bias, const T* y, T* dz, float* sum_g, float* sum_gx) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float all_g = sum_g[i], all_gx = sum_gx[i];
#pragma GCC unroll 8
    for (int k = 0; k < kRows; ++k) {
      const int64_t at = k * step + i;
      const float centred = Widen(x[at]) - mean[i];
      float g = Widen(dy[at]);
      if (kMask == ReluMask::kFromX) g = IfPositive(centred * scale[i] + bias[i], g);
      if (kMask == ReluMask::kFromY) {
        g = IfPositive(Widen(y[at]), g);
        Store(g, dz + at);
      }
      all_g += g;
      all_gx += g * centred;
    }
    sum_g[i] = all_g;
    sum_gx[i] = all_gx;
  }
}

// Over a span ---------------------------------------------------------------------------------

// Calls run(row, integral_constant<int, count>) for all rows in order, kMost of them at a time.
template <int kMost, typename Run>
CAFFE2_INLINE void ForRowGroups(int64_t rows, const Run& run) {
  int64_t r = 0;
  for (; r + kMost <= rows; r += kMost) run(r, std::integral_constant<int, kMost>{});
  for (; r < rows; ++r) run(r, std::integral_constant<int, 1>{});
}
// Brings `n` elements into the cache. They may lie past the end of the array.
template <typename T>
CAFFE2_INLINE void Prefetch(int64_t n, const T* x) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(x + i, 0, 2);
}

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
// channel. Both passes over a chunk, which is in the cache, prefetch half of the next one.
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
          count,
          [=](int64_t i, int64_t n, auto& sums) { SumRun<1>(n, 0, from + i, shift, sums[0]); },
          chunk_mean);
      const Same centre{* chunk_mean /= static_cast<float>(count)};
      SumLanes<1>(
          count,
          [=](int64_t i, int64_t n, auto& sums) {
            SquareRun<1>(n, 0, from + i, shift, centre, sums[0]);
          },
          chunk_m2);
    } else {
      ForRowGroups<kMomentRows>(
          count, [=](int64_t r, auto rows) __attribute__((always_inline)) {
            Prefetch(rows * channels / 2, from + (chunk + r / 2) * channels);
            SumRun<rows>(channels, channels, from + r * channels, shift, chunk_mean);
          });
      for (int64_t c = 0; c < channels; ++c) chunk_mean[c] /= static_cast<float>(count);
      ForRowGroups<kMomentRows>(
          count, [=](int64_t r, auto rows) __attribute__((always_inline)) {
            Prefetch(rows * channels / 2, from + (chunk + (count + r) / 2) * channels);
            SquareRun<rows>(channels, channels, from + r * channels, shift, Each{chunk_mean},
                            chunk_m2);
          });
    }
    Join(channels, static_cast<float>(before + begin), static_cast<float>(count), chunk_mean,
         chunk_m2, mean, m2);
  }
}

// NHWC, kGroup rows at a time. `in` and dz point to the span's elements and channel.
template <int kGroup, ReluMask kMask, typename T>
CAFFE2_INLINE void GradientSumRows(const Span& span, const NormalizeGradient<T>& in, T* dz,
                                   float* sum_g, float* sum_gx) {
  constexpr bool kY = kMask == ReluMask::kFromY;
  const T *x = in.x, *dy = in.dy, *y = in.y;
  const Each mean{in.mean}, scale{in.scale}, bias{in.bias};
  const int64_t width = span.width;
  // A function of its own would not be cloned.
  const auto add = [=](int64_t r, auto rows) __attribute__((always_inline)) {
    const int64_t at = r * width;
    GradientSumRun<rows, kMask>(width, width, x + at, dy + at, mean, scale, bias,
                                kY ? y + at : nullptr, kY ? dz + at : nullptr, sum_g, sum_gx);
  };
  ForRowGroups<kGroup>(span.rows, add);
}

// `in` and dz as above.
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
          GradientSumRun<1, kMask>(n, 0, x + i, dy + i, mean, scale, bias, kY ? in.y + i : nullptr,
                                   kY ? dz + i : nullptr, sums[0], sums[1]);
        },
        totals);
    *sum_g += totals[0];
    *sum_gx += totals[1];
    return;
  }
  // Longer rows hide the wait for sums, and the processor fetches ahead in one row better than in
  // several of each tensor.
  constexpr int64_t kNarrowRow = 128;
  span.width <= kNarrowRow ? GradientSumRows<kGradientRows, kMask>(span, in, dz, sum_g, sum_gx)
                           : GradientSumRows<1, kMask>(span, in, dz, sum_g, sum_gx);
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
CAFFE2_SIMD_CLONES void GradientSums(const Span& span, const NormalizeGradient<float>& in,
                                     float* dz, float* sum_g, float* sum_gx) {
  AddGradientSums(span, in, dz, sum_g, sum_gx);
}
CAFFE2_SIMD_CLONES void GradientSums(const Span& span, const NormalizeGradient<bfloat16>& in,
                                     bfloat16* dz, float* sum_g, float* sum_gx) {
  AddGradientSums(span, in, dz, sum_g, sum_gx);
}
// Over the image ------------------------------------------------------------------------------

// NHWC in blocks of rows: calls visit(block, first row, rows) for each, in parallel. Returns the
// number of blocks, which depends on the shape alone.
template <typename Visit>
int64_t ForEachBlock(const ChannelShape& s, const Visit& visit) {
  const int64_t rows = s.PerChannel();
  const int64_t min = std::max(kMinBlockRows, kChunk / s.channels);
  const int64_t blocks = std::min(kMaxBlocks, (rows + min - 1) / min);
  const int64_t grain = std::max<int64_t>(1, kNormGrain * blocks / (rows * s.channels));
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
  ParallelFor(s.channels, RowGrain(s.PerChannel(), kNormGrain), [&](int64_t begin, int64_t end) {
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

#define CAFFE2_INSTANTIATE(T)                                                                 \
  template void ChannelMoments(const ChannelShape&, const T*, float*, float*);                \
  template void ChannelGradientSums(const ChannelShape&, const NormalizeGradient<T>&, float*, \
                                    float*, T*)
CAFFE2_INSTANTIATE(float);
CAFFE2_INSTANTIATE(bfloat16);
#undef CAFFE2_INSTANTIATE

}  // namespace caffe2
