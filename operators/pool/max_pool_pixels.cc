#include "operators/pool/max_pool_pixels.h"

#include <algorithm>
#include <array>
#include <vector>

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"
#include "operators/pool/pool_windows.h"

namespace caffe2 {
namespace {

constexpr int64_t kPixelGrain = 1 << 13;  // elements per thread

// 16 channels, and as many elements anywhere in a tensor. Loops over arrays of elements, which GCC
// vectorizes by itself, took twice as long (AMD EPYC, Zen 5).
typedef float Channels __attribute__((vector_size(64)));
typedef uint32_t ChannelBits __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t Halves __attribute__((vector_size(32), aligned(2), may_alias));
static_assert(sizeof(Channels) == kMinPixelChannels * sizeof(float));

// Results are parameters: the way vectors are returned depends on the processor.
CAFFE2_INLINE void Load(const float* from, Channels* to) {
  *to = *reinterpret_cast<const Floats*>(from);
}
CAFFE2_INLINE void Load(const bfloat16* from, Channels* to) {
  *to = reinterpret_cast<Channels>(
      __builtin_convertvector(*reinterpret_cast<const Halves*>(from), ChannelBits) << 16);
}
CAFFE2_INLINE void StoreTo(const Channels& from, float* to) {
  *reinterpret_cast<Floats*>(to) = from;
}
CAFFE2_INLINE void StoreTo(const Channels& from, bfloat16* to) {  // as Narrow
  const auto bits = reinterpret_cast<ChannelBits>(from);
  const ChannelBits rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const ChannelBits all = from != from ? bits | 0x400000 : rounded;
  typedef uint16_t Narrowed __attribute__((vector_size(32)));
  *reinterpret_cast<Halves*>(to) = __builtin_convertvector(all >> 16, Narrowed);
}

// The windows that hold a pixel: pixels of Y and dY.
template <typename T>
struct PixelWindows {
  int64_t channels, count;
  const T *const *y, *const *dy;
};
template <typename T>
CAFFE2_INLINE void GatherGradients(const PixelWindows<T>& windows, const T* x, T* dx) {
  for (int64_t begin = 0; begin < windows.channels; begin += kMinPixelChannels) {
    // The last 16 channels may begin before.
    const int64_t c = std::min(begin, windows.channels - kMinPixelChannels);
    Channels sum = {}, in, y, dy;
    Load(x + c, &in);
    for (int64_t k = 0; k < windows.count; ++k) {
      Load(windows.y[k] + c, &y);
      Load(windows.dy[k] + c, &dy);
      sum += in == y ? dy : Channels{};
    }
    StoreTo(sum, dx + c);
  }
}
// Plain functions, as clones cannot be templates.
CAFFE2_SIMD_CLONES void PixelGradient(const PixelWindows<float>& windows, const float* x,
                                      float* dx) {
  GatherGradients(windows, x, dx);
}
CAFFE2_SIMD_CLONES void PixelGradient(const PixelWindows<bfloat16>& windows, const bfloat16* x,
                                      bfloat16* dx) {
  GatherGradients(windows, x, dx);
}

// Lists the windows that hold a pixel. For one thread.
template <typename T>
class WindowLister {
 public:
  WindowLister(const PoolShape& shape, const std::array<WindowsOfInputs, 3>& axes, const T* y,
               const T* dy)
      : s_(shape), axes_(axes), y_(y), dy_(dy) {
    const int64_t most = axes[0].MostOf(1) * axes[1].MostOf(1) * axes[2].MostOf(1);
    at_y_.resize(most);
    at_dy_.resize(most);
  }
  // Of input pixel (d, h, w); valid until the next call.
  PixelWindows<T> List(int64_t plane, int64_t d, int64_t h, int64_t w) {
    int64_t count = 0;
    for (int64_t od = axes_[0].First(d); od < axes_[0].End(d); ++od) {
      for (int64_t oh = axes_[1].First(h); oh < axes_[1].End(h); ++oh) {
        const int64_t row = ((plane * s_.output[0] + od) * s_.output[1] + oh) * s_.output[2];
        for (int64_t ow = axes_[2].First(w); ow < axes_[2].End(w); ++ow, ++count) {
          at_y_[count] = y_ + (row + ow) * s_.channels;
          at_dy_[count] = dy_ + (row + ow) * s_.channels;
        }
      }
    }
    return {s_.channels, count, at_y_.data(), at_dy_.data()};
  }

 private:
  const PoolShape& s_;
  const std::array<WindowsOfInputs, 3>& axes_;
  const T *const y_, *const dy_;
  std::vector<const T*> at_y_, at_dy_;
};

}  // namespace

template <typename T>
void MaxPoolPixelGradient(const PoolShape& s, const T* x, const T* y, const T* dy, T* dx) {
  const std::array<WindowsOfInputs, 3> axes = {WindowsOfInputs(s, 0), WindowsOfInputs(s, 1),
                                               WindowsOfInputs(s, 2)};
  const int64_t rows = s.batch * s.input[0] * s.input[1], row_size = s.input[2] * s.channels;
  // Every pixel gathers from the windows over it, so that no two threads write to one element.
  ParallelFor(rows, RowGrain(row_size, kPixelGrain), [&](int64_t begin, int64_t end) {
    WindowLister<T> windows(s, axes, y, dy);
    ForEachRowOfPlanes(begin, end, s.input[0], s.input[1],
                       [&](int64_t row, int64_t plane, int64_t d, int64_t h) {
                         int64_t at = row * row_size;
                         for (int64_t w = 0; w < s.input[2]; ++w, at += s.channels) {
                           PixelGradient(windows.List(plane, d, h, w), x + at, dx + at);
                         }
                       });
  });
}

template void MaxPoolPixelGradient(const PoolShape&, const float*, const float*, const float*,
                                   float*);
template void MaxPoolPixelGradient(const PoolShape&, const bfloat16*, const bfloat16*,
                                   const bfloat16*, bfloat16*);

}  // namespace caffe2
