#include "operators/quantized/int8_vnni_conv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/thread_scratch.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define CAFFE2_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#endif

namespace caffe2::int8 {
namespace {

constexpr int64_t kFilters = 16;  // in a block: a vector of sums
constexpr int64_t kGroup = 4;     // bytes that one instruction multiplies and adds
constexpr int kMaxPixels = 16;    // in a tile
constexpr int64_t kBandPixels = 128;

// Neighbouring pixels of Y, and one block of filters.
struct VnniTile {
  const uint8_t* x;  // the window of the first pixel
  int64_t x_step;    // from pixel to pixel
  const int32_t* taps;
  int64_t groups;
  const int8_t* filter;
  const float *multipliers, *offsets;
  bool scales_first;  // multiplies before it adds the offsets
  uint8_t min;
  uint8_t* y;
  int64_t y_step;
};
using TileFunction = void (*)(const VnniTile&);

#ifdef CAFFE2_VNNI

constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of the forms without a mask

// sums[f] += the sum of x[j] * filter[4 f + j] over j < 4. The compiler's function would copy sums
// in each step of a loop.
CAFFE2_VNNI CAFFE2_INLINE void AddGroup(__m512i filter, const uint8_t* x, __m512i* sums) {
  int32_t bytes;
  std::memcpy(&bytes, x, kGroup);
  asm("vpdpbusd %2, %1, %0" : "+v"(*sums) : "v"(_mm512_set1_epi32(bytes)), "v"(filter));
}

// The compiler does not join these, as it may join _mm512_mul_ps and _mm512_add_ps.
CAFFE2_VNNI CAFFE2_INLINE __m512 Multiply(__m512 a, __m512 b) {
  return _mm512_mul_round_ps(a, b, _MM_FROUND_CUR_DIRECTION);
}
CAFFE2_VNNI CAFFE2_INLINE __m512 Add(__m512 a, __m512 b) {
  return _mm512_add_round_ps(a, b, _MM_FROUND_CUR_DIRECTION);
}

// The levels of four pixels, from their sums.
CAFFE2_VNNI CAFFE2_INLINE __m512i LevelsOfFour(const VnniTile& t, const __m512i* sums) {
  const __m512 multipliers = _mm512_loadu_ps(t.multipliers), offsets = _mm512_loadu_ps(t.offsets);
  __m512i levels[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const __m512 sum = _mm512_maskz_cvtepi32_ps(kAll, sums[k]);
    const __m512 value = t.scales_first ? Add(Multiply(sum, multipliers), offsets)
                                        : Multiply(Add(sum, offsets), multipliers);
    levels[k] = _mm512_maskz_cvtps_epi32(kAll, value);
  }
  // Packing clips to [0, 255] and takes four levels of each pixel in turn.
  const __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(levels[0], levels[1]),
                                             _mm512_packs_epi32(levels[2], levels[3]));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_max_epu8(_mm512_maskz_permutexvar_epi32(kAll, order, packed),
                         _mm512_set1_epi8(static_cast<char>(t.min)));
}

template <int kPart>
CAFFE2_VNNI CAFFE2_INLINE void StorePart(__m512i levels, uint8_t* y) {
  constexpr __mmask8 kAllLanes = 0xff;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                   _mm512_maskz_extracti32x4_epi32(kAllLanes, levels, kPart));
}

template <int kPixels>
CAFFE2_VNNI void ComputeTile(const VnniTile& t) {
  constexpr int kRounded = (kPixels + 3) / 4 * 4;
  __m512i sums[kRounded];
#pragma GCC unroll 16
  for (int r = 0; r < kRounded; ++r) sums[r] = _mm512_setzero_si512();
  const int8_t* filter = t.filter;
  for (int64_t g = 0; g < t.groups; ++g, filter += kFilters * kGroup) {
    const uint8_t* x = t.x + t.taps[g];
    const __m512i factors = _mm512_loadu_si512(filter);
#pragma GCC unroll 16
    for (int r = 0; r < kPixels; ++r) AddGroup(factors, x + r * t.x_step, &sums[r]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kPixels; r += 4) {
    uint8_t* y = t.y + r * t.y_step;
    const __m512i levels = LevelsOfFour(t, sums + r);
    StorePart<0>(levels, y);
    if (r + 1 < kPixels) StorePart<1>(levels, y + t.y_step);
    if (r + 2 < kPixels) StorePart<2>(levels, y + 2 * t.y_step);
    if (r + 3 < kPixels) StorePart<3>(levels, y + 3 * t.y_step);
  }
}

template <int... kPixels>
constexpr auto TileFunctions(std::integer_sequence<int, kPixels...>) {
  return std::array<TileFunction, sizeof...(kPixels)>{ComputeTile<kPixels + 1>...};
}

bool HasKernel() { return onednn::HasVnniWithoutAmx(); }
TileFunction TileOf(int64_t pixels) {
  static constexpr auto functions = TileFunctions(std::make_integer_sequence<int, kMaxPixels>());
  return functions[pixels - 1];
}

#else

bool HasKernel() { return false; }
TileFunction TileOf(int64_t) { return nullptr; }

#endif

// True if the values before rounding fit into 32 bits, whatever X holds.
bool LevelsFit(int64_t products, const onednn::ByteEpilogue& epilogue) {
  const double most_sum = 255. * 128 * static_cast<double>(products);
  for (size_t m = 0; m < epilogue.multipliers.size(); ++m) {
    const double most =
        std::abs(epilogue.multipliers[m]) * most_sum + std::abs(epilogue.offsets[m]);
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

}  // namespace

bool HasPads(const Window& w) {
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  return !std::all_of(w.pad_begin.begin(), w.pad_begin.end(), is_zero) ||
         !std::all_of(w.pad_end.begin(), w.pad_end.end(), is_zero);
}

// Rows [begin, end) of the Y of an image.
struct VnniConv::Band {
  int64_t index, image, begin, end;
};

bool VnniConv::Supports(const ConvShape& shape, const onednn::ByteEpilogue& epilogue) {
  constexpr int64_t kMinWidth = 4;  // sums, so that one need not wait for itself
  if (!HasKernel() || shape.x.spatial.size() != 2 || shape.group != 1 || epilogue.float_dst) {
    return false;
  }
  const int64_t products = shape.x.channels * shape.filter[2] * shape.filter[3];
  return shape.y.spatial[1] >= kMinWidth && Runs(shape).size >= kGroup &&
         LevelsFit(products, epilogue);
}

bool VnniConv::IsFaster(const ConvShape& shape) {
  // Measured on Zen 4: with pads or long sums oneDNN is as fast or faster.
  constexpr int64_t kFewChannels = 16, kLongSum = 128;
  const Window& w = shape.window;
  const int64_t products = shape.x.channels * shape.filter[2] * shape.filter[3];
  return shape.x.channels < kFewChannels || (!HasPads(w) && products <= kLongSum);
}

VnniConv::VnniConv(const ConvShape& shape, const int8_t* filter, uint8_t pad,
                   const onednn::ByteEpilogue& epilogue)
    : shape_(shape),
      pad_(pad),
      min_(static_cast<uint8_t>(epilogue.min)),
      multipliers_(epilogue.multipliers),
      offsets_(epilogue.offsets) {
  CAFFE_ENFORCE(Supports(shape, epilogue), "no convolution for a product of bytes");
  const Window& w = shape.window;
  is_padded_ = HasPads(w);
  line_ = (shape.x.spatial[1] + w.pad_begin[1] + w.pad_end[1]) * shape.x.channels;
  const int64_t rows = std::max<int64_t>(1, kBandPixels / w.output[1]);
  bands_ = (w.output[0] + rows - 1) / rows;
  blocks_ = (shape.filter[0] + kFilters - 1) / kFilters;
  // Levels are rounded as by oneDNN.
  for (size_t m = 0; m < offsets_.size() && !onednn::ScalesBeforeOffset(); ++m) {
    offsets_[m] /= multipliers_[m];
  }
  multipliers_.resize(blocks_ * kFilters);
  offsets_.resize(blocks_ * kFilters);
  PackFilter(filter);
}

void VnniConv::PackFilter(const int8_t* filter) {
  const Window& w = shape_.window;
  const Runs runs(shape_);
  std::vector<int64_t> first;  // the place in a filter of each group
  std::vector<int64_t> skip;   // bytes that belong to the group before
  for (int64_t i = 0; i < runs.count; ++i) {
    const int64_t row = runs.joined ? i : i / shape_.filter[3];
    const int64_t column = runs.joined ? 0 : i % shape_.filter[3];
    const int64_t at = row * w.dilation[0] * line_ + column * w.dilation[1] * shape_.x.channels;
    for (int64_t k = 0; k < runs.size; k += kGroup) {
      const int64_t begin = std::min(k, runs.size - kGroup);  // reads nothing after the run
      taps_.push_back(static_cast<int32_t>(at + begin));
      first.push_back(i * runs.size + begin);
      skip.push_back(k - begin);
    }
  }
  const int64_t size = runs.count * runs.size;
  filter_.assign(blocks_ * kFilters * first.size() * kGroup, 0);
  for (int64_t m = 0; m < shape_.filter[0]; ++m) {
    int8_t* to = filter_.data() + m / kFilters * first.size() * kFilters * kGroup;
    for (size_t g = 0; g < first.size(); ++g) {
      for (int64_t j = skip[g]; j < kGroup; ++j) {
        to[(g * kFilters + m % kFilters) * kGroup + j] = filter[m * size + first[g] + j];
      }
    }
  }
}

VnniConv::Band VnniConv::BandAt(int64_t index) const {
  const int64_t height = shape_.window.output[0], i = index % bands_;
  return {index, index / bands_, height * i / bands_, height * (i + 1) / bands_};
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

const uint8_t* VnniConv::PaddedRows(const Band& band, const uint8_t* x) const {
  const Window& w = shape_.window;
  const int64_t height = shape_.x.spatial[0], row = shape_.x.spatial[1] * shape_.x.channels;
  const uint8_t* image = x + band.image * height * row;
  const int64_t first = band.begin * w.stride[0] - w.pad_begin[0];
  if (!is_padded_) return image + first * row;
  const int64_t rows =
      (band.end - band.begin - 1) * w.stride[0] + (w.kernel[0] - 1) * w.dilation[0] + 1;
  const int64_t left = w.pad_begin[1] * shape_.x.channels;
  auto* padded = reinterpret_cast<uint8_t*>(ThreadScratch(rows * line_));
  for (int64_t i = 0; i < rows; ++i) {
    uint8_t* to = padded + i * line_;
    const int64_t from = first + i;
    if (from < 0 || from >= height) {
      std::memset(to, pad_, line_);
      continue;
    }
    std::memset(to, pad_, left);
    std::memcpy(to + left, image + from * row, row);
    std::memset(to + left + row, pad_, line_ - left - row);
  }
  return padded;
}

void VnniConv::ComputeBlock(const Band& band, int64_t block, const uint8_t* rows, uint8_t* y,
                            int64_t y_step) const {
  const Window& w = shape_.window;
  const int64_t width = w.output[1], tiles = (width + kMaxPixels - 1) / kMaxPixels;
  const auto groups = static_cast<int64_t>(taps_.size());
  const int64_t filters = std::min(kFilters, shape_.filter[0] - block * kFilters);
  VnniTile tile{};
  tile.x_step = w.stride[1] * shape_.x.channels;
  tile.multipliers = multipliers_.data() + block * kFilters;
  tile.offsets = offsets_.data() + block * kFilters;
  tile.scales_first = onednn::ScalesBeforeOffset();
  tile.min = min_;
  const int8_t* filter = filter_.data() + block * groups * kFilters * kGroup;
  const int64_t kernel_row = groups / w.kernel[0];
  for (int64_t i = band.begin; i < band.end; ++i) {
    const auto [first, last] = KernelRows(i);
    tile.taps = taps_.data() + first * kernel_row;
    tile.filter = filter + first * kernel_row * kFilters * kGroup;
    tile.groups = (last - first) * kernel_row;
    const uint8_t* x = rows + (i - band.begin) * w.stride[0] * line_;
    uint8_t* row = y + (band.image * w.output[0] + i) * width * y_step + block * kFilters;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t begin = width * t / tiles, end = width * (t + 1) / tiles;
      tile.x = x + begin * tile.x_step;
      uint8_t* to = row + begin * y_step;
      tile.y = to;
      tile.y_step = y_step;
      if (filters == kFilters) {
        TileOf(end - begin)(tile);
        continue;
      }
      // The tile writes whole blocks.
      uint8_t whole[kMaxPixels * kFilters] = {};
      tile.y = whole;
      tile.y_step = kFilters;
      TileOf(end - begin)(tile);
      for (int64_t p = 0; p < end - begin; ++p) {
        std::memcpy(to + p * y_step, whole + p * kFilters, filters);
      }
    }
  }
}

void VnniConv::Run(const uint8_t* x, uint8_t* y, int64_t y_step) const {
  constexpr int64_t kGrain = 1 << 15;  // instructions, about 10 us
  const int64_t height = shape_.window.output[0], width = shape_.window.output[1];
  const int64_t work = height * width * static_cast<int64_t>(taps_.size()) / bands_;
  ParallelFor(shape_.y.batch * bands_ * blocks_, std::max<int64_t>(1, kGrain / work),
              [&](int64_t begin, int64_t end) {
                Band band{-1, 0, 0, 0};
                const uint8_t* rows = nullptr;
                for (int64_t i = begin; i < end; ++i) {
                  if (i / blocks_ != band.index) {
                    band = BandAt(i / blocks_);
                    rows = PaddedRows(band, x);
                  }
                  ComputeBlock(band, i % blocks_, rows, y, y_step);
                }
              });
}

}  // namespace caffe2::int8
