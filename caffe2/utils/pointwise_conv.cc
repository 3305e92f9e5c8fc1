#include "caffe2/utils/pointwise_conv.h"

#include <omp.h>

#include <algorithm>

#include "caffe2/core/allocator.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

// Rows that are multiplied with one panel after another: they stay in the second-level cache.
constexpr int64_t kBlockRows = 16 * kTileRows;
constexpr int64_t kCacheLine = 64;

// The rows of each block of `rows`: about kBlockRows, whole tiles.
int64_t BlockOf(int64_t rows) {
  const int64_t blocks = std::max<int64_t>(1, (rows + kBlockRows / 2) / kBlockRows);
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  return (tiles + blocks - 1) / blocks * kTileRows;
}

}  // namespace

// Memory that will be used soon is asked for meanwhile, a part with each product.
class PointwiseConv::BytesAhead {
 public:
  BytesAhead(const void* begin, const void* end, int64_t products)
      : next_(static_cast<const char*>(begin)),
        end_(static_cast<const char*>(end)),
        part_((end_ - next_ + products - 1) / products) {}
  void Next() {
    due_ += part_;
    for (; due_ > 0 && next_ < end_; next_ += kCacheLine, due_ -= kCacheLine) {
      __builtin_prefetch(next_, 0, 2);
    }
  }

 private:
  const char *next_, *end_;
  const int64_t part_;  // bytes with each product
  int64_t due_ = 0;
};

bool PointwiseConv::Supports(const ConvProblem& p, ConvDirection direction) {
  const auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
  };
  if (direction == ConvDirection::kBackwardFilter || p.stride.size() != 2 || p.groups != 1 ||
      !p.channels_last || p.filter[2] != 1 || p.filter[3] != 1 || !all(p.pad_begin, 0) ||
      !p.filter_type.Match<float>()) {
    return false;
  }
  for (int axis = 0; axis < 2; ++axis) {  // windows after the image's end would need padding
    if ((p.dst[axis + 2] - 1) * p.stride[axis] >= p.src[axis + 2]) return false;
  }
  const bool forward = direction == ConvDirection::kForward;
  if (p.bias_type && !(forward && p.bias_type.Match<float>())) return false;
  const int64_t depth = forward ? p.src[1] : p.filter[0];
  const int64_t columns = forward ? p.filter[0] : p.src[1];
  if (columns % kTileSide != 0) return false;
  if (p.type.Match<float>()) return HasTileInstructions<float>();
  return p.type.Match<bfloat16>() && depth % 2 == 0 && HasTileInstructions<bfloat16>();
}

PointwiseConv::PointwiseConv(const ConvProblem& p, ConvDirection direction)
    : forward_(direction == ConvDirection::kForward),
      add_(p.add_to_dst),
      relu_(forward_ && p.relu),
      keeps_filter_(forward_ && p.constant_filter),
      images_(p.src.at(0)),
      height_(p.src.at(2)),
      width_(p.src.at(3)),
      out_height_(p.dst.at(2)),
      out_width_(p.dst.at(3)),
      stride_y_(p.stride.at(0)),
      stride_x_(p.stride.at(1)),
      depth_(forward_ ? p.src.at(1) : p.filter.at(0)),
      columns_(forward_ ? p.filter.at(0) : p.src.at(1)),
      in_order_(out_height_ == height_ && out_width_ == width_),
      problem_(p) {
  CAFFE_ENFORCE(Supports(p, direction), "not supported as a product of pixels: ", p.ToString());
}

int64_t PointwiseConv::PixelOf(int64_t row) const {
  if (in_order_) return row;
  const int64_t line = row / out_width_, x = row % out_width_;
  const int64_t image = line / out_height_, y = line % out_height_;
  return (image * height_ + y * stride_y_) * width_ + x * stride_x_;
}

template <typename T>
void PointwiseConv::Pack(const float* filter, TileWord<T>* panels) const {
  const int64_t panel_size = depth_ / kRowsOfWord<T> * kTileSide;
  ParallelFor(columns_ / kTileSide, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      TileWord<T>* to = panels + panel * panel_size;
      if (forward_) {
        PackTransposedPanel<T>(depth_, depth_, filter + panel * kTileSide * depth_, to);
      } else {
        PackPanel<T>(depth_, columns_, filter + panel * kTileSide, to);
      }
    }
  });
}

template <typename T>
const TileWord<T>* PointwiseConv::Packed(const float* filter) {
  const size_t bytes =
      depth_ / kRowsOfWord<T> * columns_ * static_cast<int64_t>(sizeof(TileWord<T>));
  if (!keeps_filter_) {
    auto* panels = reinterpret_cast<TileWord<T>*>(ThreadScratch(bytes));
    Pack<T>(filter, panels);
    return panels;
  }
  if (!kept_) kept_ = GetAllocator(CPU).Allocate(bytes, Device{});
  auto* panels = static_cast<TileWord<T>*>(kept_.get());
  if (kept_source_ != filter) Pack<T>(filter, panels);
  kept_source_ = filter;
  return panels;
}

template <typename T>
void PointwiseConv::MultiplyPanel(Rows rows, int64_t panel, const T* from,
                                  const TileWord<T>* columns, const RowEpilogue& epilogue, T* to,
                                  BytesAhead ahead) const {
  for (int64_t row = rows.begin; row < rows.end; row += kTileRows) {
    ahead.Next();
    const int count = static_cast<int>(std::min<int64_t>(kTileRows, rows.end - row));
    const T* a[kTileRows];
    T* c[kTileRows];
    for (int i = 0; i < count; ++i) {
      const int64_t pixel = PixelOf(row + i);
      a[i] = from + (forward_ ? pixel : row + i) * depth_;
      c[i] = to + (forward_ ? row + i : pixel) * columns_ + panel * kTileSide;
    }
    MultiplyTile<T>(count, depth_, a, columns, epilogue, c);
  }
}

template <typename T>
void PointwiseConv::Multiply(Rows rows, Panels panels, const T* from, const TileWord<T>* packed,
                             const float* bias, T* to) const {
  const int64_t block = BlockOf(rows.end - rows.begin);
  const int64_t panel_size = depth_ / kRowsOfWord<T> * kTileSide;
  const int64_t count = panels.end - panels.begin;
  for (int64_t first = rows.begin; first < rows.end; first += block) {
    const int64_t last = std::min(rows.end, first + block);
    const int64_t tiles = (last - first + kTileRows - 1) / kTileRows;
    // What the next block reads.
    const int64_t next = in_order_ ? std::min(rows.end, last + block) - last : 0;
    const auto row_of = [&](int64_t i) { return from + (last + next * i / count) * depth_; };
    for (int64_t i = 0; i < count; ++i) {
      const int64_t panel = panels.begin + i;
      const TileWord<T>* columns = packed + panel * panel_size;
      const RowEpilogue epilogue{bias ? bias + panel * kTileSide : nullptr, add_, relu_};
      const BytesAhead ahead(row_of(i), row_of(i + 1), tiles);
      MultiplyPanel({first, last}, panel, from, columns, epilogue, to, ahead);
    }
  }
}

template <typename T>
void PointwiseConv::ClearOtherPixels(T* to) const {
  ParallelFor(images_ * height_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t y = line % height_;
      const bool covered = y % stride_y_ == 0 && y / stride_y_ < out_height_;
      for (int64_t x = 0; x < width_; ++x) {
        if (covered && x % stride_x_ == 0 && x / stride_x_ < out_width_) continue;
        std::fill_n(to + (line * width_ + x) * columns_, columns_, T{});
      }
    }
  });
}

template <typename T>
void PointwiseConv::RunWithType(const T* from, const float* filter, const float* bias, T* to) {
  const TileWord<T>* panels = Packed<T>(filter);
  if (!forward_ && !add_ && !in_order_) ClearOtherPixels(to);
  const int64_t rows = images_ * out_height_ * out_width_, count = columns_ / kTileSide;
  // Threads divide the rows, so that each reads its own; if these are few, the panels.
  const int64_t threads = omp_get_max_threads();
  if (rows >= kBlockRows * threads || count < threads) {
    ParallelFor((rows + kTileRows - 1) / kTileRows, 1, [&](int64_t begin, int64_t end) {
      const Rows own{begin * kTileRows, std::min(rows, end * kTileRows)};
      Multiply(own, {0, count}, from, panels, bias, to);
    });
  } else {
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      Multiply({0, rows}, {begin, end}, from, panels, bias, to);
    });
  }
}

void PointwiseConv::Run(const void* from, const float* filter, const float* bias, void* to) {
  if (problem_.type.Match<float>()) {
    RunWithType(static_cast<const float*>(from), filter, bias, static_cast<float*>(to));
  } else {
    RunWithType(static_cast<const bfloat16*>(from), filter, bias, static_cast<bfloat16*>(to));
  }
}

}  // namespace caffe2::onednn
