#include "operators/pool/pool_kernels.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/vector_math.h"
#include "operators/common/wide_rows.h"
#include "operators/pool/max_pool_pixels.h"
#include "operators/pool/pool_windows.h"

namespace caffe2 {
namespace {

constexpr int64_t kGrain = 1 << 14;  // taps of windows per thread
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One row of an image and the windows along it. `channels` is 1 for NCHW.
struct Row {
  int64_t channels, input, output, kernel, stride, pad;

  // The taps of output column `out` that are inside the image: [TapBegin, TapEnd).
  int64_t TapBegin(int64_t out) const { return std::max<int64_t>(0, pad - out * stride); }
  int64_t TapEnd(int64_t out) const { return std::min(kernel, input + pad - out * stride); }
  // The output columns whose tap `tap` is inside the image: [ColumnBegin, ColumnEnd).
  int64_t ColumnBegin(int64_t tap) const {
    return tap >= pad ? 0 : (pad - tap + stride - 1) / stride;
  }
  int64_t ColumnEnd(int64_t tap) const {
    const int64_t room = input - 1 + pad - tap;
    if (room < 0) return 0;
    // A division costs as much as a short row.
    return std::min(output, (stride <= 2 ? room >> (stride - 1) : room / stride) + 1);
  }
};

// Calls element(out, in) for every tap of every window of the row, as offsets of elements; in runs
// along the channels if there are several, else along the columns, so that the loop vectorizes.
template <typename Element>
CAFFE2_INLINE void ForEachTap(const Row& row, const Element& element) {
  if (row.channels > 1) {
    for (int64_t out = 0; out < row.output; ++out) {
      const int64_t end = row.TapEnd(out);
      for (int64_t tap = row.TapBegin(out); tap < end; ++tap) {
        const int64_t to = out * row.channels;
        const int64_t from = (out * row.stride - row.pad + tap) * row.channels;
#pragma GCC ivdep
        for (int64_t c = 0; c < row.channels; ++c) element(to + c, from + c);
      }
    }
    return;
  }
  for (int64_t tap = 0; tap < row.kernel; ++tap) {
    const int64_t begin = row.ColumnBegin(tap), end = row.ColumnEnd(tap);
    const int64_t shift = tap - row.pad;
    if (row.stride == 1) {
#pragma GCC ivdep
      for (int64_t out = begin; out < end; ++out) element(out, out + shift);
    } else if (row.stride == 2) {
#pragma GCC ivdep
      for (int64_t out = begin; out < end; ++out) element(out, 2 * out + shift);
    } else {
      for (int64_t out = begin; out < end; ++out) element(out, out * row.stride + shift);
    }
  }
}

// True for one window that one channel fills, as in global pooling of NCHW: loops run along the
// taps.
CAFFE2_INLINE bool IsOneWindow(const Row& row) { return row.channels == 1 && row.output == 1; }

// Combines the values of the only window with `first`, in several chains at a time.
template <typename T, typename Combine>
CAFFE2_INLINE float ReduceWindow(const Row& row, const T* x, float first, const Combine& combine) {
  constexpr int64_t kChains = 16;
  float chains[kChains];
  std::fill_n(chains, kChains, first);
  const int64_t begin = row.TapBegin(0) - row.pad, end = row.TapEnd(0) - row.pad;
  int64_t i = begin;
  for (; i + kChains <= end; i += kChains) {
    for (int64_t k = 0; k < kChains; ++k) chains[k] = combine(chains[k], Widen(x[i + k]));
  }
  for (int64_t k = 0; i + k < end; ++k) chains[k] = combine(chains[k], Widen(x[i + k]));
  float all = chains[0];
  for (int64_t k = 1; k < kChains; ++k) all = combine(all, chains[k]);
  return all;
}
// Calls element(0, in) for the taps of the only window. No call may need the result of another one.
template <typename Element>
CAFFE2_INLINE void ForEachTapOfWindow(const Row& row, const Element& element) {
  const int64_t begin = row.TapBegin(0) - row.pad, end = row.TapEnd(0) - row.pad;
#pragma GCC ivdep
  for (int64_t in = begin; in < end; ++in) element(0, in);
}

template <typename T>
CAFFE2_INLINE void MaxTaps(const Row& row, const T* x, float* y) {
  const auto larger = [](float most, float value) {
    return Select((value > most) | (value != value), value, most);  // a NaN wins
  };
  if (IsOneWindow(row)) {
    y[0] = ReduceWindow(row, x, y[0], larger);
    return;
  }
  ForEachTap(row, [=](int64_t out, int64_t in) { y[out] = larger(y[out], Widen(x[in])); });
}
template <typename T>
CAFFE2_INLINE void SumTaps(const Row& row, const T* x, float* y) {
  if (IsOneWindow(row)) {
    y[0] += ReduceWindow(row, x, 0.f, [](float sum, float value) { return sum + value; });
    return;
  }
  ForEachTap(row, [=](int64_t out, int64_t in) { y[out] += Widen(x[in]); });
}
template <typename T>
CAFFE2_INLINE void MaxGradientTaps(const Row& row, const T* x, const T* y, const T* dy, float* dx) {
  const auto add = [=](int64_t out, int64_t in) {
    // No branch, in the loops' ends either: where the maximum lies cannot be predicted.
    dx[in] += Select(Widen(x[in]) == Widen(y[out]), Widen(dy[out]), 0.f);
  };
  IsOneWindow(row) ? ForEachTapOfWindow(row, add) : ForEachTap(row, add);
}
// Plain functions, as clones cannot be templates.
CAFFE2_SIMD_CLONES void Max(const Row& row, const float* x, float* y) { MaxTaps(row, x, y); }
CAFFE2_SIMD_CLONES void Max(const Row& row, const bfloat16* x, float* y) { MaxTaps(row, x, y); }
CAFFE2_SIMD_CLONES void AddTo(const Row& row, const float* x, float* y) { SumTaps(row, x, y); }
CAFFE2_SIMD_CLONES void AddTo(const Row& row, const bfloat16* x, float* y) { SumTaps(row, x, y); }
CAFFE2_SIMD_CLONES void MaxGradient(const Row& row, const float* x, const float* y, const float* dy,
                                    float* dx) {
  MaxGradientTaps(row, x, y, dy, dx);
}
CAFFE2_SIMD_CLONES void MaxGradient(const Row& row, const bfloat16* x, const bfloat16* y,
                                    const bfloat16* dy, float* dx) {
  MaxGradientTaps(row, x, y, dy, dx);
}
CAFFE2_SIMD_CLONES void Scatter(const Row& row, const float* dy, float* dx) {
  const auto add = [=](int64_t out, int64_t in) { dx[in] += dy[out]; };
  IsOneWindow(row) ? ForEachTapOfWindow(row, add) : ForEachTap(row, add);
}
CAFFE2_SIMD_CLONES void Scale(int64_t n, float scale, const float* from, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = scale * from[i];
}
CAFFE2_SIMD_CLONES void Scale(int64_t n, float scale, const bfloat16* from, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = scale * Widen(from[i]);
}
// Windows that fill their planes are windows of one long row: the planes lie in one piece.
PoolShape WithLongRows(PoolShape s) {
  const int64_t size = s.input[0] * s.input[1] * s.input[2];
  const bool whole = s.output[0] * s.output[1] * s.output[2] == 1 && s.kernel == s.input &&
                     s.pad[0] + s.pad[1] + s.pad[2] == 0;
  if (s.channels_last || !whole) return s;
  s.input = {1, 1, size};
  s.kernel = s.input;
  return s;
}

// Gradient of MaxPool in NCHW, for one thread: every input row gathers from the windows over it.
//
// Input column i is tap u % stride + k * stride of window u / stride - k, for u = i + pad and
// k < taps. Rows of Y and dY are spread first: each element is repeated stride times, so that what
// window k gives to column i lies at u - k * stride for all columns. NaN, which equals no input,
// stands in Y where there is no window. Loops write whole vectors; the next row overwrites the
// surplus.
struct SpreadRows {
  // Columns at once; the surplus is smaller. Vectors of 16 took up to twice as long (Zen 4).
  static constexpr int64_t kChunk = 8;

  static int64_t Taps(const Row& row) { return (row.kernel + row.stride - 1) / row.stride; }

  explicit SpreadRows(const Row& r)
      : row(r),
        taps(Taps(r)),
        left(r.stride * (taps - 1)),
        last_taps(r.kernel - left),
        pitch(left + std::max(r.input + r.pad, r.stride * (r.output + kChunk)) + kChunk) {}

  // Not all columns have the last tap.
  bool Partial() const { return last_taps < row.stride; }
  // Elements of a spread row: Y, dY and, if Partial(), Y for the last tap, `pitch` elements each.
  int64_t Size() const { return (Partial() ? 3 : 2) * pitch; }

  const Row row;
  const int64_t taps, left, last_taps, pitch;
};

template <int kStride, bool kPartial, typename T>
CAFFE2_INLINE void SpreadColumn(const SpreadRows& s, const T* y, const T* dy, int64_t out,
                                float* to) {
  const int64_t stride = kStride > 0 ? kStride : s.row.stride;
  const float value = Widen(y[out]), gradient = Widen(dy[out]);
  for (int64_t p = 0; p < stride; ++p) {
    to[out * stride + p] = value;
    to[s.pitch + out * stride + p] = gradient;
    if (kPartial) to[2 * s.pitch + out * stride + p] = Select(p < s.last_taps, value, kNaN);
  }
}
// Spreads rows of the output; `readable` elements of Y and dY may be read.
template <int kStride, bool kPartial, typename T>
CAFFE2_INLINE void SpreadAll(const SpreadRows& s, int64_t rows, int64_t readable, const T* y,
                             const T* dy, float* to) {
  constexpr int64_t kChunk = SpreadRows::kChunk;
  const int64_t n = s.row.output, end = n * s.row.stride, size = s.Size();
  to += s.left;
  for (int64_t r = 0; r < rows; ++r, y += n, dy += n, to += size) {
    int64_t out = 0;
    if (kStride > 0 && readable - r * n >= n + kChunk) {
      for (; out < n; out += kChunk) {
#pragma omp simd
        for (int64_t i = out; i < out + kChunk; ++i) {
          SpreadColumn<kStride, kPartial>(s, y, dy, i, to);
        }
      }
    }
    for (; out < n; ++out) SpreadColumn<kStride, kPartial>(s, y, dy, out, to);
    for (int64_t u = end; u < s.row.input + s.row.pad; ++u) {
      to[u] = kNaN;
      if (kPartial) to[2 * s.pitch + u] = kNaN;
    }
  }
}
template <typename T>
CAFFE2_INLINE void SpreadAny(const SpreadRows& s, int64_t rows, int64_t readable, const T* y,
                             const T* dy, float* to) {
  if (s.row.stride == 1) {
    SpreadAll<1, false>(s, rows, readable, y, dy, to);
  } else if (s.row.stride == 2) {
    s.Partial() ? SpreadAll<2, true>(s, rows, readable, y, dy, to)
                : SpreadAll<2, false>(s, rows, readable, y, dy, to);
  } else {
    s.Partial() ? SpreadAll<0, true>(s, rows, readable, y, dy, to)
                : SpreadAll<0, false>(s, rows, readable, y, dy, to);
  }
}
CAFFE2_SIMD_CLONES void Spread(const SpreadRows& s, int64_t rows, int64_t readable, const float* y,
                               const float* dy, float* to) {
  SpreadAny(s, rows, readable, y, dy, to);
}
CAFFE2_SIMD_CLONES void Spread(const SpreadRows& s, int64_t rows, int64_t readable,
                               const bfloat16* y, const bfloat16* dy, float* to) {
  SpreadAny(s, rows, readable, y, dy, to);
}

// Adds, or sets if kFirst, what kTaps windows give to a row.
template <int kTaps, bool kFirst>
CAFFE2_INLINE void AddRow(int64_t n, const float* x, const float* const* y, const float* const* dy,
                          float* sum) {
  for (int64_t begin = 0; begin < n; begin += SpreadRows::kChunk) {
#pragma omp simd
    for (int64_t i = begin; i < begin + SpreadRows::kChunk; ++i) {
      float all = kFirst ? 0.f : sum[i];
      for (int k = 0; k < kTaps; ++k) all += Select(x[i] == y[k][i], dy[k][i], 0.f);
      sum[i] = all;
    }
  }
}
// Input rows [begin, end) of a plane, and the spread rows of each depth that hold their windows.
struct SpreadBlock {
  const SpreadRows& s;
  const WindowsOfInputs& height;
  int64_t begin, end;
  const float* spread;
  int64_t depths, windows;  // each depth has `windows` spread rows
  const float* x;
  float* sum;
};
// Sets the rows to what their windows give. The taps must be a multiple of kTaps.
template <int kTaps>
CAFFE2_INLINE void AddBlock(const SpreadBlock& b) {
  const int64_t n = b.s.row.input, stride = b.s.row.stride, pitch = b.s.pitch, size = b.s.Size();
  const int64_t last = b.s.taps - kTaps, partial = b.s.Partial() ? 2 * pitch : 0;
  const float* base = b.spread + b.s.left + b.s.row.pad - b.height.First(b.begin) * size;
  const float* x = b.x;
  float* sum = b.sum;
  for (int64_t h = b.begin; h < b.end; ++h, x += n, sum += n) {
    bool set = true;
    const int64_t end_window = b.height.End(h);
    for (int64_t d = 0; d < b.depths; ++d) {
      for (int64_t window = b.height.First(h); window < end_window; ++window) {
        for (int64_t tap = 0; tap <= last; tap += kTaps) {
          const float *y[kTaps], *dy[kTaps];
          for (int k = 0; k < kTaps; ++k) {
            y[k] = base + (d * b.windows + window) * size - (tap + k) * stride;
            dy[k] = y[k] + pitch;
          }
          if (tap == last) y[kTaps - 1] += partial;
          set ? AddRow<kTaps, true>(n, x, y, dy, sum) : AddRow<kTaps, false>(n, x, y, dy, sum);
          set = false;
        }
      }
    }
    if (set) std::fill_n(sum, n, 0.f);
  }
}
// Plain functions, as clones cannot be templates.
CAFFE2_SIMD_CLONES void AddOneTap(const SpreadBlock& block) { AddBlock<1>(block); }
CAFFE2_SIMD_CLONES void AddTwoTaps(const SpreadBlock& block) { AddBlock<2>(block); }
CAFFE2_SIMD_CLONES void AddThreeTaps(const SpreadBlock& block) { AddBlock<3>(block); }
CAFFE2_SIMD_CLONES void AddFiveTaps(const SpreadBlock& block) { AddBlock<5>(block); }

// See SpreadRows. The rows are processed in blocks, whose spread rows stay in the cache.
template <typename T>
class SpreadMaxGradient {
 public:
  // Few of the taps may be NaN only.
  static bool Suits(const Row& row) {
    return row.channels == 1 && !IsOneWindow(row) && SpreadRows::Taps(row) <= 4 * row.output;
  }

  SpreadMaxGradient(const PoolShape& shape, const Row& row, const WindowsOfInputs& depth,
                    const WindowsOfInputs& height)
      : shape_(shape), depth_(depth), height_(height), s_(row) {
    block_ = std::min(shape.input[1], std::max(kBlock / row.input, shape.kernel[1]));
    spread_.assign(depth.MostOf(1) * height.MostOf(block_) * s_.Size(), kNaN);
    for (auto* buffer : {&x_, &sum_}) buffer->resize(block_ * row.input + SpreadRows::kChunk);
  }

  // Writes rows [begin, end) of dX.
  void Run(int64_t begin, int64_t end, const T* x, const T* y, const T* dy, T* dx) {
    const int64_t n = s_.row.input;
    for (int64_t row = begin; row < end;) {
      const int64_t h = row % shape_.input[1], slice = row / shape_.input[1];
      const int64_t rows = std::min({end - row, shape_.input[1] - h, block_});
      const bool has_surplus = (end - row - rows) * n >= SpreadRows::kChunk;
      RunBlock(slice, h, rows, has_surplus, x + row * n, y, dy, dx + row * n);
      row += rows;
    }
  }

 private:
  static constexpr int64_t kBlock = 1024;  // elements
  static constexpr bool kFloat = std::is_same_v<T, float>;

  // Rows [h, h + rows) of one depth of one plane.
  void RunBlock(int64_t slice, int64_t h, int64_t rows, bool has_surplus, const T* x, const T* y,
                const T* dy, T* dx) {
    const int64_t n = rows * s_.row.input;
    if constexpr (kFloat) {
      if (has_surplus) return AddWindows(slice, h, rows, x, y, dy, dx);
      std::copy_n(x, n, x_.data());
    } else {
      WidenRow(n, x, x_.data());
    }
    AddWindows(slice, h, rows, x_.data(), y, dy, sum_.data());
    if constexpr (kFloat) {
      std::copy_n(sum_.data(), n, dx);
    } else {
      NarrowRow(n, sum_.data(), dx);
    }
  }
  void AddWindows(int64_t slice, int64_t h, int64_t rows, const float* x, const T* y, const T* dy,
                  float* sum) {
    const int64_t plane = slice / shape_.input[0], d = slice % shape_.input[0];
    const int64_t first_d = depth_.First(d), end_d = depth_.End(d);
    const int64_t first_h = height_.First(h), windows = height_.Count(h, rows);
    const int64_t all = shape_.batch * shape_.channels * shape_.output[0] * shape_.output[1];
    const auto add = s_.taps % 5 == 0   ? AddFiveTaps
                     : s_.taps % 3 == 0 ? AddThreeTaps
                     : s_.taps % 2 == 0 ? AddTwoTaps
                                        : AddOneTap;
    float* spread = spread_.data();
    for (int64_t out_d = first_d; out_d < end_d; ++out_d, spread += windows * s_.Size()) {
      const int64_t row = (plane * shape_.output[0] + out_d) * shape_.output[1] + first_h;
      const int64_t at = row * s_.row.output, readable = (all - row) * s_.row.output;
      Spread(s_, windows, readable, y + at, dy + at, spread);
    }
    add({s_, height_, h, h + rows, spread_.data(), end_d - first_d, windows, x, sum});
  }

  const PoolShape& shape_;
  const WindowsOfInputs &depth_, &height_;
  const SpreadRows s_;
  int64_t block_;                        // rows
  std::vector<float> spread_, x_, sum_;  // x_, sum_: a block, where T or the surplus needs copies
};

// The windows of one pooling, row by row.
template <typename T>
class Pooling {
 public:
  explicit Pooling(const PoolShape& shape)
      : s_(WithLongRows(shape)),
        row_{shape.channels_last ? shape.channels : 1,
             s_.input[2],
             s_.output[2],
             s_.kernel[2],
             s_.stride[2],
             s_.pad[2]},
        planes_(shape.batch * (shape.channels_last ? 1 : shape.channels)),
        input_row_(row_.input * row_.channels),
        output_row_(row_.output * row_.channels) {}

  void Forward(PoolKind kind, const T* x, T* y) const {
    const int64_t rows = planes_ * s_.output[0] * s_.output[1];
    ParallelFor(rows, Grain(rows), [&](int64_t begin, int64_t end) {
      std::vector<float> buffer(kInPlace ? 0 : output_row_);
      const auto forward = [&](int64_t r, int64_t plane, int64_t d, int64_t h) {
        T* to = y + r * output_row_;
        float* sum = Sum(to, &buffer);
        ForwardRow(kind, x, plane, d, h, sum);
        if constexpr (!kInPlace) NarrowRow(output_row_, sum, to);
      };
      ForEachRowOfPlanes(begin, end, s_.output[0], s_.output[1], forward);
    });
  }

  void Backward(PoolKind kind, const T* x, const T* y, const T* dy, T* dx) const {
    const int64_t rows = planes_ * s_.input[0] * s_.input[1];
    const WindowsOfInputs depth(s_, 0), height(s_, 1);
    ParallelFor(rows, Grain(rows), [&](int64_t begin, int64_t end) {
      if (kind == PoolKind::kMax && SpreadMaxGradient<T>::Suits(row_)) {
        SpreadMaxGradient<T>(s_, row_, depth, height).Run(begin, end, x, y, dy, dx);
        return;
      }
      std::vector<float> buffer(kInPlace ? 0 : input_row_), scaled(output_row_);
      // Every input row gathers from the windows over it, so that no two threads write to one
      // element.
      const auto backward = [&](int64_t r, int64_t plane, int64_t id, int64_t ih) {
        T* to = dx + r * input_row_;
        float* sum = Sum(to, &buffer);
        std::fill_n(sum, input_row_, 0.f);
        const int64_t end_d = depth.End(id), end_h = height.End(ih);
        for (int64_t d = depth.First(id); d < end_d; ++d) {
          for (int64_t h = height.First(ih); h < end_h; ++h) {
            const int64_t from = ((plane * s_.output[0] + d) * s_.output[1] + h) * output_row_;
            if (kind == PoolKind::kMax) {
              MaxGradient(row_, x + r * input_row_, y + from, dy + from, sum);
            } else {
              ScatterRow(d, h, dy + from, scaled.data(), sum);
            }
          }
        }
        if constexpr (!kInPlace) NarrowRow(input_row_, sum, to);
      };
      ForEachRowOfPlanes(begin, end, s_.input[0], s_.input[1], backward);
    });
  }

 private:
  static constexpr bool kInPlace = std::is_same_v<T, float>;

  static float* Sum(T* to, std::vector<float>* buffer) {
    if constexpr (kInPlace) {
      return to;
    } else {
      return buffer->data();
    }
  }
  int64_t Grain(int64_t rows) const {
    const int64_t taps = output_row_ * s_.kernel[0] * s_.kernel[1] * s_.kernel[2];
    return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, taps));
  }
  // Part of the window at `out` along axis that lies inside the image: first and end input index.
  int64_t Begin(int axis, int64_t out) const {
    return std::max<int64_t>(0, out * s_.stride[axis] - s_.pad[axis]);
  }
  int64_t End(int axis, int64_t out) const {
    return std::min(s_.input[axis], out * s_.stride[axis] - s_.pad[axis] + s_.kernel[axis]);
  }
  float Weight(int64_t rows_inside, int64_t column) const {
    const int64_t all = s_.kernel[0] * s_.kernel[1] * s_.kernel[2];
    return 1.f / static_cast<float>(s_.count_include_pad
                                        ? all
                                        : rows_inside * (End(2, column) - Begin(2, column)));
  }

  // Multiplies a row of the output by the weights of its windows.
  template <typename Number>
  void ScaleColumns(int64_t rows_inside, const Number* from, float* to) const {
    for (int64_t out = 0; out < row_.output; ++out) {
      const float weight = Weight(rows_inside, out);
      const int64_t at = out * row_.channels;
      if (row_.channels == 1) {
        to[at] = weight * Widen(from[at]);
      } else {
        Scale(row_.channels, weight, from + at, to + at);
      }
    }
  }

  // Row (plane, d, h) of the output.
  void ForwardRow(PoolKind kind, const T* x, int64_t plane, int64_t d, int64_t h,
                  float* sum) const {
    const bool max = kind == PoolKind::kMax;
    std::fill_n(sum, output_row_, max ? -std::numeric_limits<float>::infinity() : 0.f);
    for (int64_t id = Begin(0, d); id < End(0, d); ++id) {
      for (int64_t ih = Begin(1, h); ih < End(1, h); ++ih) {
        const T* from = x + ((plane * s_.input[0] + id) * s_.input[1] + ih) * input_row_;
        max ? Max(row_, from, sum) : AddTo(row_, from, sum);
      }
    }
    if (max) return;
    const int64_t inside = (End(0, d) - Begin(0, d)) * (End(1, h) - Begin(1, h));
    ScaleColumns(inside, sum, sum);
  }

  // Adds the shares of the windows in row (d, h), whose gradients are dy, to a row of the input.
  void ScatterRow(int64_t d, int64_t h, const T* dy, float* scaled, float* sum) const {
    const int64_t inside = (End(0, d) - Begin(0, d)) * (End(1, h) - Begin(1, h));
    ScaleColumns(inside, dy, scaled);
    Scatter(row_, scaled, sum);
  }

  const PoolShape s_;
  const Row row_;
  const int64_t planes_, input_row_, output_row_;
};

}  // namespace

PoolShape PoolShape::Make(const ImageShape& x, const Window& window, bool channels_last,
                          bool count_include_pad) {
  PoolShape shape;
  shape.batch = x.batch;
  shape.channels = x.channels;
  shape.channels_last = channels_last;
  shape.count_include_pad = count_include_pad;
  shape.input.fill(1);
  shape.output.fill(1);
  shape.kernel.fill(1);
  shape.stride.fill(1);
  const size_t rank = x.spatial.size();
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = 3 - rank + i;
    shape.input[axis] = x.spatial[i];
    shape.output[axis] = window.output[i];
    shape.kernel[axis] = window.kernel[i];
    shape.stride[axis] = window.stride[i];
    shape.pad[axis] = window.pad_begin[i];
  }
  return shape;
}

template <typename T>
void Pool(PoolKind kind, const PoolShape& shape, const T* x, T* y) {
  if (shape.channels > 0) Pooling<T>(shape).Forward(kind, x, y);
}
template <typename T>
void PoolGradient(PoolKind kind, const PoolShape& shape, const T* x, const T* y, const T* dy,
                  T* dx) {
  if (shape.channels == 0) return;
  if (kind == PoolKind::kMax && HasLongPixelRows(shape)) {
    return MaxPoolPixelGradient(shape, x, y, dy, dx);
  }
  Pooling<T>(shape).Backward(kind, x, y, dy, dx);
}

template void Pool(PoolKind, const PoolShape&, const float*, float*);
template void Pool(PoolKind, const PoolShape&, const bfloat16*, bfloat16*);
template void PoolGradient(PoolKind, const PoolShape&, const float*, const float*, const float*,
                           float*);
template void PoolGradient(PoolKind, const PoolShape&, const bfloat16*, const bfloat16*,
                           const bfloat16*, bfloat16*);

}  // namespace caffe2
