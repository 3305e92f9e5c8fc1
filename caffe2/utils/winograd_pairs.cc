#include "caffe2/utils/winograd_pairs.h"

#include <omp.h>

#include <array>
#include <atomic>
#include <numeric>

#include "caffe2/core/allocator.h"
#include "caffe2/utils/bfloat16_pairs.h"
#include "caffe2/utils/onednn_winograd_parts.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {

using namespace winograd;

namespace {

using PairTile = WinogradTile<bfloat16>;
constexpr int kOut = PairTile::kOut, kIn = PairTile::kIn;
constexpr int64_t kPlanes = PairTile::kPlanes;

int64_t CeilOf(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// Tiles of 2x2 results, numbered over all images.
struct NumberedTiles {
  NumberedTiles(const Image& result, int64_t pad_top, int64_t pad_left)
      : top(-pad_top),
        left(-pad_left),
        down((result.height + 1) / 2),
        across((result.width + 1) / 2),
        count(result.batch * down * across) {}

  // The pixels of the input that tile `tile` needs; `outside` also for tiles from `count` on.
  template <typename Pixel>
  void FindInput(const Image& image, int64_t tile, Pixel* data, Pixel* outside,
                 Pixel** pixels) const {
    Find<kIn>(image, tile, top, left, data, outside, pixels);
  }
  // The pixels of the tile's result.
  template <typename Pixel>
  void FindResult(const Image& image, int64_t tile, Pixel* data, Pixel* outside,
                  Pixel** pixels) const {
    Find<kOut>(image, tile, 0, 0, data, outside, pixels);
  }
  // The kSide x kSide pixels of a tile; the ones of the first tile begin at `y`, `x`.
  template <int kSide, typename Pixel>
  void Find(const Image& image, int64_t tile, int64_t y, int64_t x, Pixel* data, Pixel* outside,
            Pixel** pixels) const {
    if (tile >= count) {
      std::fill_n(pixels, kSide * kSide, outside);
      return;
    }
    FindPixels<kSide>(image, tile / (down * across), y + kOut * (tile / across % down),
                      x + kOut * (tile % across), data, outside, pixels);
  }

  int64_t top, left, down, across, count;
};

// Filters of a convolution, or rotated ones, as rows of `channels` numbers.
struct Filters {
  TypeMeta type;
  const void* data;
  int64_t channels;
  bool rotated;

  // Transforms `count` <= kPanel channels of filter m, from channel c on, to planes kPanel apart.
  void Transform(int64_t m, int64_t c, int64_t count, bfloat16* to) const {
    const int64_t row = (m * 9 + (rotated ? 8 : 0)) * channels + c;
    const int64_t step = rotated ? -channels : channels;
    if (type.Match<float>()) {
      return TransformFilter(static_cast<const float*>(data) + row, step, count, kPanel, to);
    }
    std::array<float, 9 * kPanel> rows;
    for (int64_t k = 0; k < 9; ++k) {
      WidenRow(count, static_cast<const bfloat16*>(data) + row + k * step, &rows[k * kPanel]);
    }
    TransformFilter(rows.data(), kPanel, count, kPanel, to);
  }
};

// Pairs of neighbours in kPanel rows, `step` apart, to `pairs` rows.
CAFFE2_SIMD_CLONES void TransposePairs(int64_t pairs, int64_t step, const bfloat16* from,
                                       BFloat16Pair* to) {
  for (int64_t r = 0; r < pairs; ++r) {
    for (int64_t i = 0; i < kPanel; ++i) {
      const bfloat16* pair = from + i * step + 2 * r;
      to[r * kPanel + i].bits = pair[0].x | static_cast<uint32_t>(pair[1].x) << 16;
    }
  }
}

}  // namespace

// What does not change from run to run.
struct PairCorrelation::Sizes {
  static constexpr int64_t kMaxTiles = 64;       // of a chunk; their transforms stay in the cache
  static constexpr int64_t kBlock = 2 * kPanel;  // channels of results that are computed at a time

  Sizes(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left)
      : in(in), out(out), tiles(out, pad_top, pad_left), strips(PanelsOf(in.channels)) {
    // Each thread gets the same number of chunks.
    const int64_t threads = omp_get_max_threads();
    const int64_t wanted = CeilOf((tiles.count + kMaxTiles - 1) / kMaxTiles, threads);
    chunk = CeilOf((tiles.count + wanted - 1) / wanted, kStripRows);
    chunks = (tiles.count + chunk - 1) / chunk;
    filter_panel = strips * kStripPairs * kPanel;
    filter_plane = PanelsOf(out.channels) * filter_panel;
    // Odd numbers of cache lines from one to the next, which would compete for the same few lines
    // otherwise.
    strip = (chunk | 1) * kPanel;
    in_plane = (strips * (chunk | 1) | 1) * kPanel;
    out_plane = chunk * kBlock + kPanel / 2;
    in_planes = worker.Add<bfloat16>(kPlanes * in_plane);
    out_planes = worker.Add<float>(kPlanes * out_plane);
    outside = worker.Add<bfloat16>(std::max(in.channels, out.channels));
  }
  int64_t filter_bytes() const {
    return kPlanes * filter_plane * static_cast<int64_t>(sizeof(BFloat16Pair));
  }

  const Image in, out;
  const NumberedTiles tiles;
  const int64_t strips;
  int64_t chunk, chunks;               // tiles of a chunk
  int64_t filter_panel, filter_plane;  // in pairs
  int64_t strip, in_plane, out_plane;  // in elements
  Layout worker;                       // the scratch memory of a thread
  size_t in_planes, out_planes, outside;
};

PairCorrelation::PairCorrelation(const ConvProblem& problem, bool rotated)
    : problem_(problem), rotated_(rotated), sizes_([&] {
        const Image src = MakeImage(problem.src), dst = MakeImage(problem.dst);
        const int64_t top = problem.pad_begin[0], left = problem.pad_begin[1];
        return rotated ? std::make_shared<const Sizes>(dst, src, 2 - top, 2 - left)
                       : std::make_shared<const Sizes>(src, dst, top, left);
      }()) {}

void PairCorrelation::TransformFilters(const void* filter, void* to) const {
  const Sizes& s = *sizes_;
  auto* planes = static_cast<BFloat16Pair*>(to);
  if (s.in.channels % kPanel != 0) {
    std::fill_n(planes, kPlanes * s.filter_plane, BFloat16Pair{0});
  }
  const Filters source{problem_.filter_type, filter, problem_.filter[1], rotated_};
  const int64_t filters = problem_.filter[0], channel_blocks = PanelsOf(source.channels);
  ParallelFor(PanelsOf(filters) * channel_blocks, 1, [&](int64_t begin, int64_t end) {
    // The planes of one filter. Filters do not compete for the same few cache lines.
    constexpr int64_t kFilter = (kPlanes + 1) * kPanel;
    std::vector<bfloat16> buffer(kPanel * kFilter);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block / channel_blocks * kPanel, c = block % channel_blocks * kPanel;
      const int64_t m_count = std::min(kPanel, filters - m);
      const int64_t c_count = std::min(kPanel, source.channels - c);
      if (std::min(m_count, c_count) < kPanel) std::fill(buffer.begin(), buffer.end(), bfloat16{});
      for (int64_t i = 0; i < m_count; ++i) {
        source.Transform(m + i, c, c_count, &buffer[i * kFilter]);
      }
      for (int64_t p = 0; p < kPlanes; ++p) {
        const bfloat16* from = &buffer[p * kPanel];
        BFloat16Pair* plane = planes + p * s.filter_plane;
        if (rotated_) {  // pairs of filters
          BFloat16Pair* rows = plane + c / kPanel * s.filter_panel + m / 2 * kPanel;
          for (int64_t i = 0; i < m_count; i += 2, rows += kPanel) {
            InterleaveRows(c_count, from + i * kFilter, from + (i + 1) * kFilter, rows);
          }
        } else {  // pairs of channels
          BFloat16Pair* rows = plane + m / kPanel * s.filter_panel + c / 2 * kPanel;
          TransposePairs((c_count + 1) / 2, kFilter, from, rows);
        }
      }
    }
  });
}

void PairCorrelation::RunChunk(int64_t number, const void* in, const void* filter,
                               const float* bias, void* out, char* scratch) const {
  const Sizes& s = *sizes_;
  auto* in_planes = reinterpret_cast<bfloat16*>(scratch + s.in_planes);
  auto* out_planes = reinterpret_cast<float*>(scratch + s.out_planes);
  auto* outside = reinterpret_cast<bfloat16*>(scratch + s.outside);
  const auto* filters = static_cast<const BFloat16Pair*>(filter);
  const int64_t first = number * s.chunk, count = std::min(s.chunk, s.tiles.count - first);
  std::fill_n(outside, s.in.channels, bfloat16{});
  for (int64_t i = 0; i < count; ++i) {
    const bfloat16* pixels[kIn * kIn];
    s.tiles.FindInput<const bfloat16>(s.in, first + i, static_cast<const bfloat16*>(in), outside,
                                      pixels);
    TransformInputStrips(pixels, s.in.channels, s.strip, s.in_plane, in_planes + i * kPanel);
  }
  for (int64_t block = 0; block < s.out.channels; block += Sizes::kBlock) {
    const int64_t channels = std::min(Sizes::kBlock, s.out.channels - block);
    for (int64_t p = 0; p < kPlanes; ++p) {
      for (int64_t c = 0; c < channels; c += kPanel) {
        MultiplyStrips(CeilOf(count, kStripRows), s.strips, s.strip, in_planes + p * s.in_plane,
                       filters + p * s.filter_plane + (block + c) / kPanel * s.filter_panel,
                       Sizes::kBlock, out_planes + p * s.out_plane + c);
      }
    }
    const WinogradEpilogue epilogue{bias + block, !rotated_ && problem_.add_to_dst,
                                    !rotated_ && problem_.relu};
    for (int64_t i = 0; i < count; ++i) {
      bfloat16* pixels[kOut * kOut];
      s.tiles.FindResult<bfloat16>(s.out, first + i, static_cast<bfloat16*>(out) + block, outside,
                                   pixels);
      TransformOutput(out_planes + i * Sizes::kBlock, s.out_plane, channels, epilogue, pixels);
    }
  }
}

void PairCorrelation::Run(const void* in, const void* filter, const void* bias, void* out) {
  const Sizes& s = *sizes_;
  const bool keep = problem_.constant_filter, kept = keep && kept_filter_source_ == filter;
  Layout layout;
  const size_t planes = layout.Add<char>(keep ? 0 : s.filter_bytes());
  const size_t workers = layout.Add<char>(s.worker.bytes() * omp_get_max_threads());
  char* scratch = ThreadScratch(layout.bytes());
  if (keep && !kept_filter_) {
    kept_filter_ = GetAllocator(CPU).Allocate(s.filter_bytes(), Device{});
  }
  void* filters = keep ? kept_filter_.get() : scratch + planes;
  if (!kept) {
    TransformFilters(filter, filters);
    if (keep) kept_filter_source_ = filter;
  }
  std::vector<float> bias_buffer(s.out.channels);
  const float* wide_bias = bias ? AsFloat(problem_.bias_type, bias, 0, s.out.channels, &bias_buffer)
                                : bias_buffer.data();
  std::atomic<int> next_worker{0};
  ParallelFor(s.chunks, 1, [&](int64_t begin, int64_t end) {
    char* worker = scratch + workers + next_worker++ * s.worker.bytes();
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      RunChunk(chunk, in, filters, wide_bias, out, worker);
    }
  });
}

// Computes rows of the planes of a gradient for some filters.
class PairFilterGradient::Worker {
 public:
  // `filters`: at most so many at a time.
  Worker(const ConvProblem& problem, int64_t filters)
      : in_(MakeImage(problem.src)),
        out_(MakeImage(problem.dst)),
        tiles_(out_, problem.pad_begin[0], problem.pad_begin[1]),
        pairs_((tiles_.count + 1) / 2),
        in_plane_(PanelsOf(in_.channels) * kPanelStep),
        out_plane_(PanelsOf(filters) * kPanelStep),
        in_place_(layout_.Add<BFloat16Pair>(kIn * in_plane_)),
        out_place_(layout_.Add<BFloat16Pair>(kIn * out_plane_)),
        outside_(std::max(in_.channels, out_.channels)) {}

  size_t bytes() const { return layout_.bytes(); }
  // Computes sums[plane][filter][channel] for the planes of a row, and `filters` filters from
  // `first` on.
  void Run(int64_t row, int64_t first, int64_t filters, const bfloat16* src, const bfloat16* d_dst,
           char* scratch, float* sums) const {
    auto* in_planes = reinterpret_cast<BFloat16Pair*>(scratch + in_place_);
    auto* out_planes = reinterpret_cast<BFloat16Pair*>(scratch + out_place_);
    sums += (row * kIn * out_.channels + first) * in_.channels;
    for (int64_t begin = 0; begin < pairs_; begin += kPanelPairs) {
      const int64_t pairs = std::min(kPanelPairs, pairs_ - begin);
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t tile = 2 * (begin + i);
        const bfloat16 *even[kIn * kIn], *odd[kIn * kIn];
        tiles_.FindInput(in_, tile, src, outside_.data(), even);
        tiles_.FindInput(in_, tile + 1, src, outside_.data(), odd);
        TransformInputPair(row, even, odd, in_.channels, in_plane_, in_planes + i * kPanel);
        tiles_.FindResult(out_, tile, d_dst + first, outside_.data(), even);
        tiles_.FindResult(out_, tile + 1, d_dst + first, outside_.data(), odd);
        TransformOutputGradientPair(row, even, odd, filters, out_plane_, out_planes + i * kPanel);
      }
      Multiply(pairs, filters, in_planes, out_planes, begin > 0, sums);
    }
  }

 private:
  void Multiply(int64_t pairs, int64_t filters, const BFloat16Pair* in_planes,
                const BFloat16Pair* out_planes, bool accumulate, float* sums) const {
    for (int64_t p = 0; p < kIn; ++p) {
      for (int64_t m = 0; m < filters; m += kPanel) {
        for (int64_t c = 0; c < in_.channels; c += kPanel) {
          MultiplyPanels(pairs, out_planes + p * out_plane_ + m / kPanel * kPanelStep,
                         in_planes + p * in_plane_ + c / kPanel * kPanelStep,
                         std::min(kPanel, filters - m), std::min(kPanel, in_.channels - c),
                         accumulate, in_.channels,
                         sums + (p * out_.channels + m) * in_.channels + c);
        }
      }
    }
  }

  const Image in_, out_;
  const NumberedTiles tiles_;
  const int64_t pairs_;  // of tiles
  const int64_t in_plane_, out_plane_;
  Layout layout_;
  const size_t in_place_, out_place_;
  const std::vector<bfloat16> outside_;
};

void PairFilterGradient::Run(const void* src, const void* d_dst, void* d_filter,
                             void* d_bias) const {
  const int64_t filters = problem_.filter[0], channels = problem_.filter[1];
  // Each thread gets the same number of rows of planes or, where there are more threads, of parts
  // of rows, for some filters.
  const int64_t threads = omp_get_max_threads(), panels = PanelsOf(filters);
  const int64_t parts = std::min(threads / std::gcd<int64_t>(threads, kIn), panels);
  const Worker work(problem_, (panels + parts - 1) / parts * kPanel);
  const int64_t plane = filters * channels;
  Layout layout;
  const size_t workers = layout.Add<char>(threads * work.bytes());
  const size_t sums_place = layout.Add<float>(kPlanes * plane);
  char* scratch = ThreadScratch(layout.bytes());
  auto* sums = reinterpret_cast<float*>(scratch + sums_place);
  std::atomic<int> next_worker{0};
  ParallelFor(kIn * parts, 1, [&](int64_t begin, int64_t end) {
    char* own = scratch + workers + next_worker++ * work.bytes();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts, first = panels * part / parts * kPanel;
      const int64_t last = std::min(filters, panels * (part + 1) / parts * kPanel);
      work.Run(i / parts, first, last - first, static_cast<const bfloat16*>(src),
               static_cast<const bfloat16*>(d_dst), own, sums);
    }
  });
  ParallelFor(filters, 8, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer(9 * channels);
    for (int64_t m = begin; m < end; ++m) {
      TransformFilterGradient<bfloat16>(sums + m * channels, plane, channels, buffer.data());
      StoreFloats(problem_.filter_type, buffer.data(), 9 * channels, m * 9 * channels, d_filter);
    }
  });
  WriteBias(problem_.bias_type, MakeImage(problem_.dst), static_cast<const bfloat16*>(d_dst),
            d_bias);
}

}  // namespace caffe2::onednn
