#include "operators/quantized/int8_vnni_conv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "caffe2/utils/intrinsics.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/thread_scratch.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define CAFFE2_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,prfchw")))
#endif

namespace caffe2::int8 {
namespace {

constexpr int64_t kFilters = 16;  // in a block: a vector of sums
constexpr int64_t kGroup = 4;     // bytes that one instruction multiplies and adds
constexpr int64_t kBlockBytes = kFilters * kGroup, kLineBytes = 64;
constexpr int kMaxBlocks = 4;  // in a panel
constexpr int kMaxSums = 24;   // vectors of a tile, which fill the registers with the operands
// Neighbouring pixels of Y, and a panel of up to four blocks of filters.
struct VnniTile {
  const uint8_t* x;  // the window of the first pixel
  int64_t x_step;    // from pixel to pixel
  const int32_t* taps;
  int64_t groups;
  const int8_t* filter;
  const float *multipliers, *offsets;
  bool scales_first;                // multiplies before it adds the offsets
  const float* accumulator_factor;  // of the old Y, if it is added
  uint8_t min;
  uint8_t* y;
  int64_t y_step;
  // What later tiles read: the tile fetches a line of the cache with each group. These may end
  // after their arrays.
  const uint8_t* x_ahead;
  const int8_t* filter_ahead;
};
using TileFunction = void (*)(const VnniTile&);

// The pixels of the largest tile.
constexpr int64_t MaxPixels(int64_t blocks) { return kMaxSums / blocks; }

#ifdef CAFFE2_VNNI

constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of the forms without a mask

// The bytes x[0] to x[3], for each filter.
CAFFE2_VNNI CAFFE2_INLINE __m512i FourBytes(const uint8_t* x) {
  int32_t bytes;
  std::memcpy(&bytes, x, kGroup);
  return _mm512_set1_epi32(bytes);
}

// sums[f] += the sum of x[j] * filter[4 f + j] over j < 4. The compiler's function would copy sums
// in each step of a loop.
CAFFE2_VNNI CAFFE2_INLINE void AddProducts(__m512i x, __m512i filter, __m512i* sums) {
  asm("vpdpbusd %2, %1, %0" : "+v"(*sums) : "v"(x), "v"(filter));
}

// The compiler does not join these, as it may join _mm512_mul_ps and _mm512_add_ps.
CAFFE2_VNNI CAFFE2_INLINE __m512 Multiply(__m512 a, __m512 b) {
  return _mm512_maskz_mul_round_ps(kAll, a, b, _MM_FROUND_CUR_DIRECTION);
}
CAFFE2_VNNI CAFFE2_INLINE __m512 Add(__m512 a, __m512 b) {
  return _mm512_maskz_add_round_ps(kAll, a, b, _MM_FROUND_CUR_DIRECTION);
}

// The values before rounding of a vector of sums: of pixel `pixel` and block `block`.
CAFFE2_VNNI CAFFE2_INLINE __m512 ValuesOf(const VnniTile& t, __m512i sums, int pixel, int block) {
  const __m512 multipliers = _mm512_loadu_ps(t.multipliers + block * kFilters);
  const __m512 offsets = _mm512_loadu_ps(t.offsets + block * kFilters);
  const __m512 sum = _mm512_maskz_cvtepi32_ps(kAll, sums);
  const __m512 value = t.scales_first ? Add(Multiply(sum, multipliers), offsets)
                                      : Multiply(Add(sum, offsets), multipliers);
  if (t.accumulator_factor == nullptr) return value;
  const uint8_t* y = t.y + pixel * t.y_step + block * kFilters;
  const __m512i old =
      _mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(y)));
  return _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(kAll, old), _mm512_set1_ps(*t.accumulator_factor),
                         value);
}

template <int kPart>
CAFFE2_VNNI CAFFE2_INLINE void StorePart(__m512i levels, uint8_t* y) {
  constexpr __mmask8 kAllLanes = 0xff;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                   _mm512_maskz_extracti32x4_epi32(kAllLanes, levels, kPart));
}
template <int kPart>
CAFFE2_VNNI CAFFE2_INLINE void StoreHalf(__m512i levels, uint8_t* y) {
  constexpr __mmask8 kAllLanes = 0xff;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                      _mm512_maskz_extracti64x4_epi64(kAllLanes, levels, kPart));
}

// Writes the levels of the pixels of a tile from `pixel` on that four vectors hold: of one pixel
// with three or four blocks, two with two, four with one.
template <int kBlocks, int kPixels>
CAFFE2_VNNI CAFFE2_INLINE void WriteLevels(const VnniTile& t, const __m512i* sums, int pixel) {
  __m512i levels[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const int p = pixel + (kBlocks < 3 ? k / kBlocks : 0), b = kBlocks < 3 ? k % kBlocks : k;
    levels[k] = b < kBlocks && p < kPixels
                    ? _mm512_maskz_cvtps_epi32(kAll, ValuesOf(t, sums[p * kBlocks + b], p, b))
                    : _mm512_setzero_si512();
  }
  // Packing clips to [0, 255] and takes four levels of each vector in turn.
  const __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(levels[0], levels[1]),
                                             _mm512_packs_epi32(levels[2], levels[3]));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i clipped = _mm512_max_epu8(_mm512_maskz_permutexvar_epi32(kAll, order, packed),
                                          _mm512_set1_epi8(static_cast<char>(t.min)));
  uint8_t* y = t.y + pixel * t.y_step;
  if constexpr (kBlocks == 4) {
    _mm512_storeu_si512(y, clipped);
  } else if constexpr (kBlocks == 3) {
    StoreHalf<0>(clipped, y);
    StorePart<2>(clipped, y + 2 * kFilters);
  } else if constexpr (kBlocks == 2) {
    StoreHalf<0>(clipped, y);
    if (pixel + 1 < kPixels) StoreHalf<1>(clipped, y + t.y_step);
  } else {
    StorePart<0>(clipped, y);
    if (pixel + 1 < kPixels) StorePart<1>(clipped, y + t.y_step);
    if (pixel + 2 < kPixels) StorePart<2>(clipped, y + 2 * t.y_step);
    if (pixel + 3 < kPixels) StorePart<3>(clipped, y + 3 * t.y_step);
  }
}

template <int kBlocks, int kPixels>
CAFFE2_VNNI void ComputeTile(const VnniTile& t) {
  __m512i sums[kPixels * kBlocks];
#pragma GCC unroll 24
  for (int i = 0; i < kPixels * kBlocks; ++i) sums[i] = _mm512_setzero_si512();
#pragma GCC unroll 24
  for (int p = 0; p < kPixels; ++p) __builtin_prefetch(t.y + p * t.y_step, 1);
  const int8_t* filter = t.filter;
  for (int64_t g = 0; g < t.groups; ++g, filter += kBlocks * kBlockBytes) {
    const uint8_t* x = t.x + t.taps[g];
    __builtin_prefetch(t.x_ahead + g * kLineBytes);
    __builtin_prefetch(t.filter_ahead + g * kLineBytes, 0, 2);
    __m512i factors[kBlocks];
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
      factors[b] = _mm512_loadu_si512(filter + b * kBlockBytes);
    }
#pragma GCC unroll 24
    for (int p = 0; p < kPixels; ++p) {
      const __m512i bytes = FourBytes(x + p * t.x_step);
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) AddProducts(bytes, factors[b], &sums[p * kBlocks + b]);
    }
  }
  constexpr int kStep = kBlocks < 3 ? 4 / kBlocks : 1;
#pragma GCC unroll 24
  for (int p = 0; p < kPixels; p += kStep) WriteLevels<kBlocks, kPixels>(t, sums, p);
}

// For tiles of 1, 2, ... pixels.
template <int kBlocks, int... kPixels>
constexpr auto TileFunctions(std::integer_sequence<int, kPixels...>) {
  return std::array<TileFunction, sizeof...(kPixels)>{ComputeTile<kBlocks, kPixels + 1>...};
}

bool HasKernel() { return onednn::HasVnniWithoutAmx(); }
TileFunction TileOf(int64_t blocks, int64_t pixels) {
  static constexpr auto one = TileFunctions<1>(std::make_integer_sequence<int, MaxPixels(1)>());
  static constexpr auto two = TileFunctions<2>(std::make_integer_sequence<int, MaxPixels(2)>());
  static constexpr auto three = TileFunctions<3>(std::make_integer_sequence<int, MaxPixels(3)>());
  static constexpr auto four = TileFunctions<4>(std::make_integer_sequence<int, MaxPixels(4)>());
  static constexpr const TileFunction* functions[] = {one.data(), two.data(), three.data(),
                                                      four.data()};
  return functions[blocks - 1][pixels - 1];
}

#else

bool HasKernel() { return false; }
TileFunction TileOf(int64_t, int64_t) { return nullptr; }

#endif

// The filters of the next panel, of which each tile fetches a piece.
struct PanelAhead {
  const int8_t* filter;
  int64_t pieces, piece_bytes;
  int64_t tile = 0;

  const int8_t* Next() { return filter + tile++ % pieces * piece_bytes; }
};

// Computes pixels of Y side by side, from the tile's first one on, for the first `filters` filters
// of a panel.
void ComputePixels(VnniTile tile, int64_t filters, int64_t pixels, PanelAhead* ahead) {
  const int64_t blocks = (filters + kFilters - 1) / kFilters;
  const int64_t tiles = (pixels + MaxPixels(blocks) - 1) / MaxPixels(blocks);
  for (int64_t t = 0, begin = 0; t < tiles; ++t) {
    const int64_t end = pixels * (t + 1) / tiles, count = end - begin;
    begin = end;
    const TileFunction compute = TileOf(blocks, count);
    tile.x_ahead = tile.x + count * tile.x_step;
    tile.filter_ahead = ahead->Next();
    if (filters == blocks * kFilters) {
      compute(tile);
    } else {  // it writes whole blocks
      uint8_t whole[kMaxSums * kFilters] = {};
      VnniTile copy = tile;
      copy.y = whole;
      copy.y_step = blocks * kFilters;
      for (int64_t p = 0; p < count && tile.accumulator_factor != nullptr; ++p) {
        std::memcpy(whole + p * copy.y_step, tile.y + p * tile.y_step, filters);
      }
      compute(copy);
      for (int64_t p = 0; p < count; ++p) {
        std::memcpy(tile.y + p * tile.y_step, whole + p * copy.y_step, filters);
      }
    }
    tile.x += count * tile.x_step;
    tile.y += count * tile.y_step;
  }
}

// True if the values before rounding fit into 32 bits, whatever X holds.
bool LevelsFit(int64_t products, const onednn::ByteEpilogue& epilogue, bool adds) {
  const double most_sum = 255. * 128 * static_cast<double>(products);
  const double most_old = adds ? 255. * std::abs(epilogue.accumulator_factor) : 0;
  for (size_t m = 0; m < epilogue.multipliers.size(); ++m) {
    const double most =
        std::abs(epilogue.multipliers[m]) * most_sum + std::abs(epilogue.offsets[m]) + most_old;
    if (!(most < std::numeric_limits<int32_t>::max())) return false;
  }
  return true;
}

// The runs of bytes of X that lie side by side under a window.
struct Runs {
  explicit Runs(const ConvShape& shape)
      : joined(shape.window.dilation[1] == 1),
        count(shape.filter[2] * (joined ? 1 : shape.filter[3])),
        size(shape.x.channels * (joined ? shape.filter[3] : 1)) {}
  bool joined;  // all columns of the kernel
  int64_t count, size;
};

// The bytes of X in a band. With short bands a thread computes all filters of its pixels, which
// the same thread wrote in the operator before. With long ones threads share the filters, if these
// are many.
int64_t BandBytes(const ConvShape& shape) {
  constexpr int64_t kManyFilters = 256 << 10, kShort = 32 << 10, kLong = 256 << 10;
  const int64_t filter_bytes =
      shape.filter[0] * shape.filter[2] * shape.filter[3] * shape.x.channels;
  return filter_bytes > kManyFilters ? kLong : kShort;
}

// True if a pixel of Y depends on the same pixel of X alone.
bool IsPointwise(const Window& w) {
  const auto is_one = [](int64_t size) { return size == 1; };
  return std::all_of(w.kernel.begin(), w.kernel.end(), is_one) &&
         std::all_of(w.stride.begin(), w.stride.end(), is_one) && !HasPads(w);
}

}  // namespace

bool HasPads(const Window& w) {
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  return !std::all_of(w.pad_begin.begin(), w.pad_begin.end(), is_zero) ||
         !std::all_of(w.pad_end.begin(), w.pad_end.end(), is_zero);
}

// Lines [line, line + count) of a panel, which belong to the band [begin, end) of an image.
struct VnniConv::Part {
  int64_t image, begin, end, panel, line, count;
};

bool VnniConv::Supports(const ConvShape& shape, const onednn::ByteEpilogue& epilogue, bool adds) {
  constexpr int64_t kMinWidth = 4;  // sums, so that one need not wait for itself
  if (!HasKernel() || shape.x.spatial.size() != 2 || shape.group != 1 || epilogue.float_dst) {
    return false;
  }
  const int64_t products = shape.x.channels * shape.filter[2] * shape.filter[3];
  return shape.y.spatial[1] >= kMinWidth && Runs(shape).size >= kGroup &&
         LevelsFit(products, epilogue, adds);
}

bool VnniConv::IsFaster(const ConvShape& shape) {
  // Measured on Zen 4: oneDNN is as fast or faster for larger kernels, and for short lines.
  constexpr int64_t kFewChannels = 16, kShortLine = 8;
  const Window& w = shape.window;
  const bool one_tap = w.kernel[0] * w.kernel[1] == 1;
  return shape.x.channels < kFewChannels || IsPointwise(w) ||
         (one_tap && !HasPads(w) && w.output[1] >= kShortLine);
}

VnniConv::VnniConv(const ConvShape& shape, const int8_t* filter, uint8_t pad,
                   const onednn::ByteEpilogue& epilogue, bool adds)
    : shape_(shape),
      pad_(pad),
      min_(static_cast<uint8_t>(epilogue.min)),
      adds_(adds),
      is_pointwise_(IsPointwise(shape.window)),
      is_padded_(HasPads(shape.window)),
      accumulator_factor_(epilogue.accumulator_factor),
      multipliers_(epilogue.multipliers),
      offsets_(epilogue.offsets) {
  CAFFE_ENFORCE(Supports(shape, epilogue, adds), "no convolution for a product of bytes");
  const Window& w = shape.window;
  line_bytes_ = (shape.x.spatial[1] + w.pad_begin[1] + w.pad_end[1]) * shape.x.channels;
  blocks_ = (shape.filter[0] + kFilters - 1) / kFilters;
  panels_ = (blocks_ + kMaxBlocks - 1) / kMaxBlocks;
  images_ = shape.y.batch;
  lines_ = w.output[0];
  int64_t step = w.stride[0] * line_bytes_;  // from line to line in X
  if (is_pointwise_) {
    const int64_t pixels = images_ * w.output[0] * w.output[1];
    const int64_t tile = MaxPixels((blocks_ + panels_ - 1) / panels_);
    images_ = 1;
    lines_ = (pixels + tile - 1) / tile;
    step = tile * shape.x.channels;
  }
  band_lines_ = std::max<int64_t>(1, BandBytes(shape) / step);
  // Levels are rounded as by oneDNN.
  for (size_t m = 0; m < offsets_.size() && !onednn::ScalesBeforeOffset(); ++m) {
    offsets_[m] /= multipliers_[m];
  }
  multipliers_.resize(blocks_ * kFilters);
  offsets_.resize(blocks_ * kFilters);
  PackFilter(filter);
}

int64_t VnniConv::FirstBlock(int64_t panel) const { return blocks_ * panel / panels_; }

void VnniConv::PackFilter(const int8_t* filter) {
  const Window& w = shape_.window;
  const Runs runs(shape_);
  std::vector<int64_t> first;  // the place in a filter of each group
  std::vector<int64_t> skip;   // bytes that belong to the group before
  for (int64_t i = 0; i < runs.count; ++i) {
    const int64_t row = runs.joined ? i : i / shape_.filter[3];
    const int64_t column = runs.joined ? 0 : i % shape_.filter[3];
    const int64_t at =
        row * w.dilation[0] * line_bytes_ + column * w.dilation[1] * shape_.x.channels;
    for (int64_t k = 0; k < runs.size; k += kGroup) {
      const int64_t begin = std::min(k, runs.size - kGroup);  // reads nothing after the run
      taps_.push_back(static_cast<int32_t>(at + begin));
      first.push_back(i * runs.size + begin);
      skip.push_back(k - begin);
    }
  }
  const int64_t size = runs.count * runs.size;
  filter_.assign(blocks_ * kFilters * first.size() * kGroup, 0);
  int8_t* to = filter_.data();
  for (int64_t panel = 0; panel < panels_; ++panel) {
    const int64_t begin = FirstBlock(panel) * kFilters, end = FirstBlock(panel + 1) * kFilters;
    for (size_t g = 0; g < first.size(); ++g) {
      for (int64_t m = begin; m < end; ++m, to += kGroup) {
        if (m >= shape_.filter[0]) continue;
        for (int64_t j = skip[g]; j < kGroup; ++j) to[j] = filter[m * size + first[g] + j];
      }
    }
  }
}

VnniConv::Part VnniConv::PartAt(int64_t index, int64_t end) const {
  Part part{};
  part.image = index / (lines_ * panels_);
  int64_t rest = index % (lines_ * panels_);
  part.begin = rest / (band_lines_ * panels_) * band_lines_;
  part.end = std::min(part.begin + band_lines_, lines_);
  rest -= part.begin * panels_;
  part.panel = rest / (part.end - part.begin);
  part.line = part.begin + rest % (part.end - part.begin);
  part.count = std::min(part.end - part.line, end - index);
  return part;
}

std::pair<int64_t, int64_t> VnniConv::KernelRows(int64_t row) const {
  const Window& w = shape_.window;
  const int64_t top = row * w.stride[0] - w.pad_begin[0], height = shape_.x.spatial[0];
  int64_t first = 0, last = w.kernel[0];
  if (pad_ != 0) return {first, last};
  while (first < last && top + first * w.dilation[0] < 0) ++first;
  while (last > first && top + (last - 1) * w.dilation[0] >= height) --last;
  return {first, last};
}

const uint8_t* VnniConv::PaddedRows(const Part& part, const uint8_t* x) const {
  const Window& w = shape_.window;
  const int64_t height = shape_.x.spatial[0], row = shape_.x.spatial[1] * shape_.x.channels;
  const uint8_t* image = x + part.image * height * row;
  const int64_t first = part.begin * w.stride[0] - w.pad_begin[0];
  if (!is_padded_) return image + first * row;
  const int64_t rows =
      (part.end - part.begin - 1) * w.stride[0] + (w.kernel[0] - 1) * w.dilation[0] + 1;
  const int64_t left = w.pad_begin[1] * shape_.x.channels;
  auto* padded = reinterpret_cast<uint8_t*>(ThreadScratch(rows * line_bytes_));
  for (int64_t i = 0; i < rows; ++i) {
    uint8_t* to = padded + i * line_bytes_;
    const int64_t from = first + i;
    if (from < 0 || from >= height) {
      std::memset(to, pad_, line_bytes_);
      continue;
    }
    std::memset(to, pad_, left);
    std::memcpy(to + left, image + from * row, row);
    std::memset(to + left + row, pad_, line_bytes_ - left - row);
  }
  return padded;
}

void VnniConv::ComputePart(const Part& part, const uint8_t* rows, uint8_t* y,
                           int64_t y_step) const {
  const Window& w = shape_.window;
  const auto groups = static_cast<int64_t>(taps_.size());
  const int64_t first = FirstBlock(part.panel), blocks = FirstBlock(part.panel + 1) - first;
  VnniTile tile{};
  tile.x_step = w.stride[1] * shape_.x.channels;
  tile.multipliers = multipliers_.data() + first * kFilters;
  tile.offsets = offsets_.data() + first * kFilters;
  tile.scales_first = onednn::ScalesBeforeOffset();
  tile.accumulator_factor = adds_ ? &accumulator_factor_ : nullptr;
  tile.min = min_;
  tile.taps = taps_.data();
  tile.groups = groups;
  tile.filter = filter_.data() + first * groups * kBlockBytes;
  tile.y_step = y_step;
  PanelAhead ahead{filter_.data() + FirstBlock((part.panel + 1) % panels_) * groups * kBlockBytes,
                   blocks, groups * kLineBytes};
  const int64_t filters = std::min(blocks * kFilters, shape_.filter[0] - first * kFilters);
  y += first * kFilters;
  if (is_pointwise_) {
    const int64_t pixels = shape_.y.batch * w.output[0] * w.output[1];
    const int64_t begin = pixels * part.line / lines_;
    tile.x = rows + begin * tile.x_step;
    tile.y = y + begin * y_step;
    const int64_t end = pixels * (part.line + part.count) / lines_;
    return ComputePixels(tile, filters, end - begin, &ahead);
  }
  const int8_t* filter = tile.filter;
  const int64_t kernel_row = groups / w.kernel[0];
  for (int64_t i = part.line; i < part.line + part.count; ++i) {
    const auto [top, bottom] = KernelRows(i);
    tile.taps = taps_.data() + top * kernel_row;
    tile.filter = filter + top * kernel_row * blocks * kBlockBytes;
    tile.groups = (bottom - top) * kernel_row;
    tile.x = rows + (i - part.begin) * w.stride[0] * line_bytes_;
    tile.y = y + (part.image * w.output[0] + i) * w.output[1] * y_step;
    ComputePixels(tile, filters, w.output[1], &ahead);
  }
}

void VnniConv::Run(const uint8_t* x, uint8_t* y, int64_t y_step) const {
  constexpr int64_t kGrain = 1 << 13;  // instructions, more than 2 us
  const int64_t pixels = shape_.y.batch * shape_.y.SpatialSize();
  const int64_t items = images_ * lines_ * panels_;
  const int64_t work =
      pixels * blocks_ * static_cast<int64_t>(taps_.size()) / std::max<int64_t>(1, items);
  ParallelFor(items, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
              [&](int64_t begin, int64_t end) {
                const uint8_t* rows = is_pointwise_ ? x : nullptr;
                Part last{-1, 0, 0, 0, 0, 0};
                while (begin < end) {
                  const Part part = PartAt(begin, end);
                  if (!is_pointwise_ && (part.image != last.image || part.begin != last.begin)) {
                    rows = PaddedRows(part, x);
                  }
                  ComputePart(part, rows, y, y_step);
                  begin += part.count;
                  last = part;
                }
              });
}

}  // namespace caffe2::int8
