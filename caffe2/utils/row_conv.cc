#include "caffe2/utils/row_conv.h"

#include <algorithm>
#include <cstring>

#include "caffe2/core/logging.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

// The width of a tile. Longer rows are cut into parts of kPart and a rest of at most kMaxWidth.
constexpr int64_t kMinWidth = 9, kPart = 48, kMaxWidth = 56;
constexpr int64_t kVector = 16;
constexpr int kMaxRows = 9;
// The rows of a tile by the vectors of 16 in a row: with their factors they fill the registers.
constexpr int kTileRows[] = {0, kMaxRows, 7, 6};

// How a row of values lies in vectors of 16 and perhaps one of 8.
struct Lanes {
  explicit Lanes(int64_t row)
      : full(static_cast<int>(row + 7) / 16),
        half(row > 16 * full),
        width(16 * full + (half ? 8 : 0)) {}
  int rows() const { return kTileRows[full]; }

  int full;
  bool half;
  int64_t width;
};

// For each row r of a tile the sums of a[r][n * a_image + i * a_outer + k * a_step] times the row
// at b + n * b_image + i * b_outer + k * b_step, over n < images, i < outer and k < count.
struct TileSums {
  int64_t outer, count, a_outer, a_step, b_outer, b_step;
  int64_t images = 1, a_image = 0, b_image = 0;
  const float* b = nullptr;
  const float* a[kMaxRows] = {};
};

// to[r][j] = the sum + offset[j], or without offsets to[r][j] += the sum.
struct TileResult {
  int rows;
  int64_t width;
  const float* offset;
  float* to[kMaxRows];
};

// The rows of the tile that begins at row `first` of `rows`.
int RowsAt(int64_t first, int64_t rows, const Lanes& lanes) {
  return static_cast<int>(std::min<int64_t>(lanes.rows(), rows - first));
}

// Vectors anywhere in an array.
typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
typedef float Half __attribute__((vector_size(32), aligned(4), may_alias));

template <int kCount>
CAFFE2_INLINE void AddLanes(const float* x, const float* y, float* sum) {
  typedef float V __attribute__((vector_size(4 * kCount)));
  V a, b;
  std::memcpy(&a, x, sizeof(V));
  std::memcpy(&b, y, sizeof(V));
  a += b;
  std::memcpy(sum, &a, sizeof(V));
}

CAFFE2_INLINE void AddToRow(int64_t n, const float* x, const float* y, float* sum) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) AddLanes<16>(x + i, y + i, sum + i);
  if (n & 8) AddLanes<8>(x + i, y + i, sum + i), i += 8;
  if (n & 4) AddLanes<4>(x + i, y + i, sum + i), i += 4;
  for (; i < n; ++i) sum[i] = x[i] + y[i];
}

// The sums stay in registers, and of each row of b one vector at a time is read for all rows.
template <int kFull, bool kHalf>
CAFFE2_INLINE void RowTile(const TileSums& s, const TileResult& result) {
  constexpr int kRows = kTileRows[kFull], kWidth = 16 * kFull + (kHalf ? 8 : 0);
  Vector full[kRows][kFull] = {};
  Half half[kRows] = {};
  const float* a[kRows];
  for (int r = 0; r < kRows; ++r) a[r] = s.a[r];
  for (int64_t line = 0, i = 0, n = 0; line < s.images * s.outer; ++line, ++i) {
    if (i == s.outer) i = 0, ++n;
    const float* b = s.b + n * s.b_image + i * s.b_outer;
    int64_t at = n * s.a_image + i * s.a_outer;
    for (int64_t k = 0; k < s.count; ++k, at += s.a_step, b += s.b_step) {
      float factor[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) factor[r] = a[r][at];
#pragma GCC unroll 16
      for (int v = 0; v < kFull; ++v) {
        const Vector row = *reinterpret_cast<const Vector*>(b + 16 * v);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) full[r][v] += factor[r] * row;
      }
      if constexpr (kHalf) {
        const Half row = *reinterpret_cast<const Half*>(b + 16 * kFull);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) half[r] += factor[r] * row;
      }
    }
  }
  alignas(64) float sums[kRows][kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kFull; ++v) *reinterpret_cast<Vector*>(sums[r] + 16 * v) = full[r][v];
    if constexpr (kHalf) *reinterpret_cast<Half*>(sums[r] + 16 * kFull) = half[r];
  }
  for (int r = 0; r < result.rows; ++r) {
    float* to = result.to[r];
    AddToRow(result.width, sums[r], result.offset ? result.offset : to, to);
  }
}

CAFFE2_SIMD_CLONES
void ComputeTile(const Lanes& lanes, const TileSums& sums, const TileResult& result) {
  switch (2 * lanes.full + (lanes.half ? 1 : 0)) {
    // clang-format off
    case 2: return RowTile<1, false>(sums, result);
    case 3: return RowTile<1, true>(sums, result);
    case 4: return RowTile<2, false>(sums, result);
    case 5: return RowTile<2, true>(sums, result);
    case 6: return RowTile<3, false>(sums, result);
    case 7: return RowTile<3, true>(sums, result);
      // clang-format on
  }
}

// to[j][i] = from[i][j] for rows of `from`; the rest of each row of `to` is 0.
void TransposeInto(int64_t rows, int64_t columns, const float* from, int64_t to_width, float* to) {
  ParallelFor(columns, 64, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t i = 0; i < to_width; ++i) {
        to[j * to_width + i] = i < rows ? from[i * columns + j] : 0;
      }
    }
  });
}

}  // namespace

bool RowConv::Supports(const ConvProblem& p, ConvDirection direction) {
  if (p.stride.size() != 2 || p.groups != 1 || !p.channels_last || !p.type.Match<float>() ||
      !p.filter_type.Match<float>() || (p.bias_type && !p.bias_type.Match<float>()) || p.relu ||
      p.add_to_dst || p.dilation[1] != 1 || p.dst[0] * p.dst[2] * p.dst[3] == 0) {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    const int64_t window = (p.filter[i + 2] - 1) * p.dilation[i] + 1;
    const int64_t end = (p.dst[i + 2] - 1) * p.stride[i] + window;
    if (p.pad_begin[i] != 0 || end > p.src[i + 2]) return false;
  }
  if (direction != ConvDirection::kBackwardData) {
    return p.filter[0] >= kMinWidth && p.filter[0] <= kMaxWidth;
  }
  return p.filter[3] * p.src[1] >= kMinWidth;
}

RowConv::RowConv(const ConvProblem& p, ConvDirection direction)
    : images_(p.src.at(0)),
      channels_(p.src.at(1)),
      filters_(p.filter.at(0)),
      kernel_height_(p.filter.at(2)),
      row_(p.filter.at(3) * channels_),
      out_height_(p.dst.at(2)),
      out_width_(p.dst.at(3)),
      image_size_(p.src.at(2) * p.src.at(3) * channels_) {
  CAFFE_ENFORCE(Supports(p, direction), "not supported by rows: ", p.ToString());
  const int64_t line = p.src[3] * channels_;
  line_ = p.dilation[0] * line;
  line_step_ = p.stride[0] * line;
  pixel_step_ = p.stride[1] * channels_;
  for (int64_t y = 0; y < out_height_; ++y) {
    for (int64_t x = 0; x < out_width_; ++x) pixels_.push_back(y * line_step_ + x * pixel_step_);
  }
  for (int64_t x = 0; x < out_width_; ++x) {
    for (int64_t y = 0; y < out_height_; ++y) columns_.push_back(y * out_width_ + x);
  }
  for (int64_t y = 0; y < kernel_height_; ++y) {
    for (int64_t i = 0; i < row_; ++i) taps_.push_back(y * line_ + i);
  }
}

void RowConv::Forward(const float* src, const float* filter, const float* bias, float* dst) const {
  const Lanes lanes(filters_);
  const auto pixels = static_cast<int64_t>(pixels_.size());
  const auto taps = static_cast<int64_t>(taps_.size());
  auto* rows = reinterpret_cast<float*>(ThreadScratch((taps + 1) * lanes.width * sizeof(float)));
  float* offset = rows + taps * lanes.width;
  TransposeInto(filters_, taps, filter, lanes.width, rows);
  std::fill_n(offset, filters_, 0.f);
  if (bias) std::copy_n(bias, filters_, offset);
  ParallelFor(images_, 1, [&](int64_t begin, int64_t end) {
    TileSums sums{kernel_height_, row_, line_, 1, row_ * lanes.width, lanes.width};
    sums.b = rows;
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t first = 0; first < pixels; first += lanes.rows()) {
        TileResult result{RowsAt(first, pixels, lanes), filters_, offset, {}};
        for (int r = 0; r < lanes.rows(); ++r) {
          const int64_t pixel = first + std::min(r, result.rows - 1);
          sums.a[r] = src + image * image_size_ + pixels_[pixel];
          result.to[r] = dst + (image * pixels + pixel) * filters_;
        }
        ComputeTile(lanes, sums, result);
      }
    }
  });
}

void RowConv::BackwardData(const float* d_dst, const float* filter, float* d_src) const {
  const auto pixels = static_cast<int64_t>(pixels_.size());
  const int64_t pitch = (row_ + kVector - 1) / kVector * kVector, part_size = filters_ * pitch;
  const int64_t rows_size = kernel_height_ * part_size;
  auto* rows = reinterpret_cast<float*>(ThreadScratch(rows_size * sizeof(float)));
  std::fill_n(rows, rows_size, 0.f);
  for (int64_t m = 0; m < filters_; ++m) {
    for (int64_t y = 0; y < kernel_height_; ++y, filter += row_) {
      std::copy_n(filter, row_, rows + y * part_size + m * pitch);
    }
  }
  ParallelFor(images_, 1, [&](int64_t begin, int64_t end) {
    std::fill(d_src + begin * image_size_, d_src + end * image_size_, 0.f);
    TileSums sums{1, filters_, 0, 1, 0, pitch};
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t y = 0; y < kernel_height_; ++y) {
        int64_t width;
        for (int64_t i = 0; i < row_; i += width) {
          width = row_ - i > kMaxWidth ? kPart : row_ - i;
          const Lanes lanes(width);
          sums.b = rows + y * part_size + i;
          float* to = d_src + image * image_size_ + y * line_ + i;
          for (int64_t first = 0; first < pixels; first += lanes.rows()) {
            TileResult result{RowsAt(first, pixels, lanes), width, nullptr, {}};
            for (int r = 0; r < lanes.rows(); ++r) {
              const int64_t pixel = columns_[first + std::min(r, result.rows - 1)];
              sums.a[r] = d_dst + (image * pixels + pixel) * filters_;
              result.to[r] = to + pixels_[pixel];
            }
            ComputeTile(lanes, sums, result);
          }
        }
      }
    }
  });
}

// The sums of a group of images are rows of a matrix, one for each value of the window, and one of
// the products with 1, the bias's gradient.
void RowConv::BackwardFilter(const float* src, const float* d_dst, float* d_filter,
                             float* d_bias) const {
  const Lanes lanes(filters_);
  const auto pixels = static_cast<int64_t>(pixels_.size());
  const auto taps = static_cast<int64_t>(taps_.size());
  const int64_t sums_rows = taps + (d_bias ? 1 : 0);
  const int64_t tiles = (sums_rows + lanes.rows() - 1) / lanes.rows();
  // Enough parts for all threads; a rule on the problem alone keeps results the same.
  constexpr int64_t kParts = 16, kImages = 4;
  const int64_t groups = std::clamp<int64_t>(kParts / tiles, 1, images_);
  const int64_t group_size = sums_rows * lanes.width, gradient_size = pixels * filters_;
  auto* partial = reinterpret_cast<float*>(ThreadScratch(
      (groups * group_size + kImages * image_size_ + gradient_size + 2 * lanes.width) *
      sizeof(float)));
  float* ones = partial + groups * group_size;
  float* zeros = ones + kImages * image_size_;
  float* last = zeros + lanes.width;
  std::fill_n(ones, kImages * image_size_, 1.f);
  std::fill_n(zeros, lanes.width, 0.f);
  // Vectors reach beyond the end of a row, which must not be the end of the array.
  std::copy_n(d_dst + (images_ - 1) * gradient_size, gradient_size, last);
  std::fill_n(last + gradient_size, lanes.width, 0.f);
  ParallelFor(groups * tiles, 1, [&](int64_t begin, int64_t end) {
    TileSums sums{out_height_,           out_width_, line_step_, pixel_step_,
                  out_width_ * filters_, filters_};
    sums.a_image = image_size_;
    sums.b_image = gradient_size;
    for (int64_t group = begin / tiles; group * tiles < end; ++group) {
      const int64_t first_tile = std::max<int64_t>(0, begin - group * tiles);
      const int64_t end_tile = std::min(tiles, end - group * tiles);
      const int64_t first_image = images_ * group / groups;
      const int64_t end_image = images_ * (group + 1) / groups;
      for (int64_t n = first_image; n < end_image; n += sums.images) {
        sums.images = std::clamp<int64_t>(images_ - 1 - n, 1, std::min(kImages, end_image - n));
        sums.b = n == images_ - 1 ? last : d_dst + n * gradient_size;
        for (int64_t tile = first_tile; tile < end_tile; ++tile) {
          const int64_t first = tile * lanes.rows();
          TileResult result{
              RowsAt(first, sums_rows, lanes), lanes.width, n == first_image ? zeros : nullptr, {}};
          for (int r = 0; r < lanes.rows(); ++r) {
            const int64_t row = first + std::min(r, result.rows - 1);
            sums.a[r] = row < taps ? src + n * image_size_ + taps_[row] : ones;
            result.to[r] = partial + group * group_size + row * lanes.width;
          }
          ComputeTile(lanes, sums, result);
        }
      }
    }
  });
  constexpr int64_t kBlock = 16;  // rows of sums that become parts of the filters' rows
  ParallelFor((sums_rows + kBlock - 1) / kBlock, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin * kBlock; block < end * kBlock; block += kBlock) {
      const int64_t count = std::min(kBlock, sums_rows - block);
      for (int64_t m = 0; m < filters_; ++m) {
        float sum[kBlock] = {};
        for (int64_t g = 0; g < groups; ++g) {
          const float* from = partial + g * group_size + block * lanes.width + m;
          for (int64_t i = 0; i < count; ++i) sum[i] += from[i * lanes.width];
        }
        const int64_t of_filter = std::min(count, taps - block);
        if (of_filter > 0) std::copy_n(sum, of_filter, d_filter + m * taps + block);
        if (of_filter < count) d_bias[m] = sum[count - 1];
      }
    }
  });
}

}  // namespace caffe2::onednn
