// Normalizes images, and computes their gradients.
#include "operators/norm/spatial_bn_kernels.h"

#include <algorithm>

#include "caffe2/core/tensor.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/stream_bytes.h"
#include "operators/common/element_type.h"
#include "operators/norm/spatial_bn_spans.h"

namespace caffe2 {
namespace {

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
    if (kRelu) g = IfPositive(centred * scale[i] + bias[i], g);
    Store(a[i] * g + b[i] * centred + c[i], dx + i);
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

// Filling an image ------------------------------------------------------------------------------

// Rows of an image in NHWC or elements of a plane in NCHW, which are filled from the last block to
// the first: the pass before ended there, so that the caches still hold the end of the inputs. A
// block is so long that the processor fetches ahead within it.
constexpr int64_t kBackwardBytes = int64_t{1} << 20;
// What is computed before it is streamed: so little that reading goes on meanwhile.
constexpr int64_t kStreamedBytes = 2048;
constexpr int64_t kMaxStreamedChannels = 4096;

// Calls fill(first unit, number of units, where to write them). A unit has `size` elements.
template <typename T, typename Fill>
void FillUnits(int64_t units, int64_t size, bool streams, T* y, const Fill& fill) {
  const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
  const int64_t block = std::max<int64_t>(1, kBackwardBytes / bytes);
  const int64_t piece = std::max<int64_t>(1, kStreamedBytes / bytes);
  alignas(64) T buffer[std::max<int64_t>(kMaxStreamedChannels, kStreamedBytes / sizeof(T))];
  for (int64_t end = units; end > 0; end -= block) {
    const int64_t begin = std::max<int64_t>(0, end - block);
    if (!streams) {
      fill(begin, end - begin, y + begin * size);
      continue;
    }
    for (int64_t at = begin; at < end; at += piece) {
      const int64_t count = std::min(piece, end - at);
      fill(at, count, buffer);
      StreamBytes(count * bytes, buffer, y + at * size);
    }
  }
}

// Fills y by calls of fill(span, offset of its first element, its first channel, where to write).
template <typename T, typename Fill>
void FillImage(const ChannelShape& s, bool streams, T* y, const Fill& fill) {
  if (s.channels_last) {
    ParallelFor(s.PerChannel(), RowGrain(s.channels, kNormGrain), [&](int64_t begin, int64_t end) {
      const auto fill_rows = [&](int64_t row, int64_t rows, T* to) {
        fill(Span{rows, s.channels, false}, (begin + row) * s.channels, int64_t{0}, to);
      };
      FillUnits(end - begin, s.channels, streams, y + begin * s.channels, fill_rows);
      FinishStreams();
    });
    return;
  }
  ParallelFor(s.batch * s.channels, RowGrain(s.spatial, kNormGrain),
              [&](int64_t begin, int64_t end) {
                for (int64_t plane = end; plane-- > begin;) {
                  const int64_t offset = plane * s.spatial;
                  const auto fill_run = [&](int64_t at, int64_t n, T* to) {
                    fill(Span{1, n, true}, offset + at, plane % s.channels, to);
                  };
                  FillUnits(s.spatial, 1, streams, y + offset, fill_run);
                }
                FinishStreams();
              });
}

// Whether to stream y. Where it overwrites an input, its lines are in the cache anyway.
template <typename T>
bool Streams(const ChannelShape& s, const T* x, const T* z, const T* y) {
  const int64_t bytes = s.PerChannel() * s.channels * static_cast<int64_t>(sizeof(T));
  return y != x && y != z && bytes >= kMinStreamedBytes && s.channels <= kMaxStreamedChannels;
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
void NormalizeChannels(const ChannelShape& shape, const T* x, const float* mean, const float* scale,
                       const float* bias, const T* z, bool relu, T* y) {
  FillImage(shape, Streams(shape, x, z, y), y,
            [=](const Span& span, int64_t offset, int64_t c, T* to) {
              Normalize(span, x + offset, mean + c, scale + c, bias + c, z ? z + offset : nullptr,
                        relu, to);
            });
}

template <typename T>
void NormalizeInputGradient(const ChannelShape& shape, const NormalizeGradient<T>& in,
                            const float* a, const float* b, const float* c, T* dx) {
  FillImage(shape, Streams(shape, in.x, in.dy, dx), dx,
            [&](const Span& span, int64_t offset, int64_t channel, T* to) {
              InputGradient(span, At(in, offset, channel), a + channel, b + channel, c + channel,
                            to);
            });
}

#define CAFFE2_INSTANTIATE(T)                                                                \
  template void NormalizeChannels(const ChannelShape&, const T*, const float*, const float*, \
                                  const float*, const T*, bool, T*);                         \
  template void NormalizeInputGradient(const ChannelShape&, const NormalizeGradient<T>&,     \
                                       const float*, const float*, const float*, T*)
CAFFE2_INSTANTIATE(float);
CAFFE2_INSTANTIATE(bfloat16);
#undef CAFFE2_INSTANTIATE

}  // namespace caffe2
