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

// Goes from tile to tile.
class TileCursor {
 public:
  TileCursor(const NumberedTiles& tiles, int64_t tile)
      : tiles_(tiles),
        left_(tiles.count - tile),
        n_(tile / (tiles.down * tiles.across)),
        y_(tile / tiles.across % tiles.down),
        x_(tile % tiles.across) {}
  void Next() {
    --left_;
    if (++x_ < tiles_.across) return;
    x_ = 0;
    if (++y_ < tiles_.down) return;
    y_ = 0;
    ++n_;
  }

  // The pixels of the input that the tile needs; `outside` also after the last tile.
  template <typename Pixel>
  void FindInput(const Image& image, Pixel* data, Pixel* outside, Pixel** pixels) const {
    Find<kIn>(image, tiles_.top, tiles_.left, data, outside, pixels);
  }
  // The pixels of the tile's result.
  template <typename Pixel>
  void FindResult(const Image& image, Pixel* data, Pixel* outside, Pixel** pixels) const {
    Find<kOut>(image, 0, 0, data, outside, pixels);
  }

 private:
  // The kSide x kSide pixels of a tile; the ones of the first tile begin at `y`, `x`.
  template <int kSide, typename Pixel>
  void Find(const Image& image, int64_t y, int64_t x, Pixel* data, Pixel* outside,
            Pixel** pixels) const {
    if (left_ <= 0) {
      std::fill_n(pixels, kSide * kSide, outside);
      return;
    }
    FindPixels<kSide>(image, n_, y + kOut * y_, x + kOut * x_, data, outside, pixels);
  }

  const NumberedTiles& tiles_;
  int64_t left_, n_, y_, x_;
};

// Brings the pixels of a later tile, which this one does not share, into the cache. There may be no
// such tile, because a hint may name any address.
template <int kSide, bool kWrite>
void PrefetchTile(const Image& image, int64_t channels, const bfloat16* const* pixels) {
  constexpr int64_t kTilesAhead = 4, kLine = 64, kBytes = sizeof(bfloat16);
  const int64_t ahead = kTilesAhead * kOut * image.channels * kBytes;
  for (int i = 0; i < kOut * kOut; ++i) {
    const int last = (kSide - 2 + i / kOut) * kSide + kSide - 2 + i % kOut;
    const auto later = reinterpret_cast<uintptr_t>(pixels[last]) + ahead;
    for (int64_t byte = 0; byte < channels * kBytes; byte += kLine) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      __builtin_prefetch(reinterpret_cast<const void*>(later + byte), kWrite);
    }
  }
}

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
  // The planes of kPanel channels of a filter. Filters do not compete for the same few cache lines.
  static constexpr int64_t kFilter = (kPlanes + 1) * kPanel;

  // `kept`: the transforms of filters are kept between runs.
  Sizes(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left, bool kept)
      : in(in), out(out), tiles(out, pad_top, pad_left, kOut), strips(PanelsOf(in.channels)) {
    const int64_t threads = omp_get_max_threads();
    const int64_t blocks = (out.channels + kBlock - 1) / kBlock;
    by_filter = kept && tiles.count <= kMaxTiles && blocks % threads == 0;
    // Each thread gets the same number of chunks.
    const int64_t wanted =
        by_filter ? 1 : CeilOf((tiles.count + kMaxTiles - 1) / kMaxTiles, threads);
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
  bool by_filter;                      // threads divide channels of results, else chunks of tiles
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
        return rotated
                   ? std::make_shared<const Sizes>(dst, src, 2 - top, 2 - left, false)
                   : std::make_shared<const Sizes>(src, dst, top, left, problem.constant_filter);
      }()) {}

void PairCorrelation::TransformFilters(const void* filter, void* to) const {
  const Sizes& s = *sizes_;
  auto* planes = static_cast<BFloat16Pair*>(to);
  if (s.in.channels % kPanel != 0) {
    std::fill_n(planes, kPlanes * s.filter_plane, BFloat16Pair{0});
  }
  const Filters source{problem_.filter_type, filter, problem_.filter[1], rotated_};
  // Panels of filters by groups of channels: long rows are read faster than short ones.
  constexpr int64_t kGroup = 4 * kPanel;
  const int64_t filters = problem_.filter[0], groups = (source.channels + kGroup - 1) / kGroup;
  ParallelFor(PanelsOf(filters) * groups, 1, [&](int64_t begin, int64_t end) {
    std::vector<bfloat16> buffer(kGroup * Sizes::kFilter);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block / groups * kPanel, m_count = std::min(kPanel, filters - m);
      const int64_t first = block % groups * kGroup;
      const int64_t last = std::min(first + kGroup, source.channels);
      if (m_count < kPanel || last % kPanel != 0) {
        std::fill(buffer.begin(), buffer.end(), bfloat16{});
      }
      for (int64_t i = 0; i < m_count; ++i) {
        for (int64_t c = first; c < last; c += kPanel) {
          source.Transform(m + i, c, std::min(kPanel, last - c),
                           &buffer[(c - first + i) * Sizes::kFilter]);
        }
      }
      for (int64_t c = first; c < last; c += kPanel) {
        InterleaveFilters(m, m_count, c, std::min(kPanel, last - c),
                          &buffer[(c - first) * Sizes::kFilter], planes);
      }
    }
  });
}

void PairCorrelation::InterleaveFilters(int64_t m, int64_t m_count, int64_t c, int64_t c_count,
                                        const bfloat16* from, BFloat16Pair* plane) const {
  const Sizes& s = *sizes_;
  for (int64_t p = 0; p < kPlanes; ++p, from += kPanel, plane += s.filter_plane) {
    if (rotated_) {  // pairs of filters
      BFloat16Pair* rows = plane + c / kPanel * s.filter_panel + m / 2 * kPanel;
      for (int64_t i = 0; i < m_count; i += 2, rows += kPanel) {
        InterleaveRows(c_count, from + i * Sizes::kFilter, from + (i + 1) * Sizes::kFilter, rows);
      }
    } else {  // pairs of channels
      BFloat16Pair* rows = plane + m / kPanel * s.filter_panel + c / 2 * kPanel;
      TransposePairs((c_count + 1) / 2, Sizes::kFilter, from, rows);
    }
  }
}

void PairCorrelation::TransformChunk(int64_t number, const void* in, char* scratch) const {
  const Sizes& s = *sizes_;
  auto* in_planes = reinterpret_cast<bfloat16*>(scratch + s.in_planes);
  auto* outside = reinterpret_cast<bfloat16*>(scratch + s.outside);
  const int64_t first = number * s.chunk, count = std::min(s.chunk, s.tiles.count - first);
  std::fill_n(outside, s.in.channels, bfloat16{});
  TileCursor cursor(s.tiles, first);
  for (int64_t i = 0; i < count; ++i, cursor.Next()) {
    const bfloat16* pixels[kIn * kIn];
    cursor.FindInput<const bfloat16>(s.in, static_cast<const bfloat16*>(in), outside, pixels);
    PrefetchTile<kIn, false>(s.in, s.in.channels, pixels);
    TransformInputStrips(pixels, s.in.channels, s.strip, s.in_plane, in_planes + i * kPanel);
  }
}

void PairCorrelation::MultiplyChunk(int64_t number, int64_t block, const BFloat16Pair* filters,
                                    const float* bias, void* out, char* scratch) const {
  const Sizes& s = *sizes_;
  const auto* in_planes = reinterpret_cast<const bfloat16*>(scratch + s.in_planes);
  auto* out_planes = reinterpret_cast<float*>(scratch + s.out_planes);
  auto* outside = reinterpret_cast<bfloat16*>(scratch + s.outside);
  const int64_t first = number * s.chunk, count = std::min(s.chunk, s.tiles.count - first);
  const int64_t channels = std::min(Sizes::kBlock, s.out.channels - block);
  const BFloat16Pair* panels = filters + block / kPanel * s.filter_panel;
  for (int64_t p = 0; p < kPlanes; ++p, panels += s.filter_plane) {
    for (int64_t c = 0; c < channels; c += kPanel) {
      const BFloat16Pair* panel = panels + c / kPanel * s.filter_panel;
      // Filters that are read once come from memory.
      const bool last = c + kPanel >= channels;
      const BFloat16Pair* next = last ? panels + s.filter_plane : panel + s.filter_panel;
      if (!s.by_filter || (last && p + 1 == kPlanes)) next = nullptr;
      MultiplyStrips(CeilOf(count, kStripRows), s.strips, s.strip, in_planes + p * s.in_plane,
                     panel, next, Sizes::kBlock, out_planes + p * s.out_plane + c);
    }
  }
  const WinogradEpilogue epilogue{bias + block, !rotated_ && problem_.add_to_dst,
                                  !rotated_ && problem_.relu};
  TileCursor result(s.tiles, first);
  for (int64_t i = 0; i < count; ++i, result.Next()) {
    bfloat16* pixels[kOut * kOut];
    result.FindResult<bfloat16>(s.out, static_cast<bfloat16*>(out) + block, outside, pixels);
    PrefetchTile<kOut, true>(s.out, channels, pixels);
    TransformOutput(out_planes + i * Sizes::kBlock, s.out_plane, channels, epilogue, pixels);
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
  const int64_t blocks = (s.out.channels + Sizes::kBlock - 1) / Sizes::kBlock;
  std::atomic<int> next_worker{0};
  ParallelFor(s.by_filter ? blocks : s.chunks, 1, [&](int64_t begin, int64_t end) {
    char* worker = scratch + workers + next_worker++ * s.worker.bytes();
    const int64_t first_chunk = s.by_filter ? 0 : begin, last_chunk = s.by_filter ? 1 : end;
    const int64_t first_block = s.by_filter ? begin : 0, last_block = s.by_filter ? end : blocks;
    for (int64_t chunk = first_chunk; chunk < last_chunk; ++chunk) {
      TransformChunk(chunk, in, worker);
      for (int64_t block = first_block; block < last_block; ++block) {
        MultiplyChunk(chunk, block * Sizes::kBlock, static_cast<const BFloat16Pair*>(filters),
                      wide_bias, out, worker);
      }
    }
  });
}

// Sums over tiles lie in blocks of kPanel filters by kPanel channels, one for each part of the
// tiles, plane, panel of filters and panel of channels, in this order.
struct PairFilterGradient::Sizes {
  static constexpr int64_t kBlock = kPanel * kPanel;
  // A thread that has parts of its own reads pixels once. But sums of all parts must be added.
  static constexpr int64_t kMaxSums = 1 << 20, kMaxParts = 8;

  explicit Sizes(const ConvProblem& problem)
      : in(MakeImage(problem.src)),
        out(MakeImage(problem.dst)),
        tiles(out, problem.pad_begin[0], problem.pad_begin[1], kOut),
        pairs((tiles.count + 1) / 2),
        in_panels(PanelsOf(in.channels)),
        out_panels(PanelsOf(out.channels)),
        plane(in_panels * out_panels * kBlock),
        parts(std::min(std::clamp<int64_t>(kMaxSums / (kPlanes * plane), 1, kMaxParts),
                       (pairs + kPanelPairs - 1) / kPanelPairs)) {}

  const Image in, out;
  const NumberedTiles tiles;
  const int64_t pairs;  // of tiles
  const int64_t in_panels, out_panels;
  const int64_t plane;  // elements of the sums of a plane
  const int64_t parts;  // whatever the number of threads, so that sums have a fixed order
};

// Computes sums.
class PairFilterGradient::Worker {
 public:
  // `panels`: at most so many panels of filters at a time.
  Worker(const Sizes& sizes, int64_t panels)
      : s_(sizes),
        in_plane_(s_.in_panels * kPanelStep),
        out_plane_(panels * kPanelStep),
        in_place_(layout_.Add<BFloat16Pair>(kIn * in_plane_)),
        out_place_(layout_.Add<BFloat16Pair>(kIn * out_plane_)),
        outside_(std::max(s_.in.channels, s_.out.channels)) {}

  size_t bytes() const { return layout_.bytes(); }

  // The work of a thread: some rows of planes and panels of filters of one part of the tiles.
  struct Share {
    int64_t part, first_row, last_row, first_panel, last_panel;
  };
  void Run(const Share& share, const bfloat16* src, const bfloat16* d_dst, char* scratch,
           float* sums) const {
    auto* in_planes = reinterpret_cast<BFloat16Pair*>(scratch + in_place_);
    auto* out_planes = reinterpret_cast<BFloat16Pair*>(scratch + out_place_);
    const int64_t first = s_.pairs * share.part / s_.parts;
    const int64_t count = s_.pairs * (share.part + 1) / s_.parts - first;
    const int64_t chunks = (count + kPanelPairs - 1) / kPanelPairs;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t begin = first + count * chunk / chunks;
      const int64_t pairs = first + count * (chunk + 1) / chunks - begin;
      // The pixels of a chunk stay in the cache from row to row.
      for (int64_t row = share.first_row; row < share.last_row; ++row) {
        Transform(share, row, begin, pairs, src, d_dst, in_planes, out_planes);
        Multiply(share, row, pairs, in_planes, out_planes, chunk > 0, sums);
      }
    }
  }

 private:
  void Transform(const Share& share, int64_t row, int64_t begin, int64_t pairs, const bfloat16* src,
                 const bfloat16* d_dst, BFloat16Pair* in_planes, BFloat16Pair* out_planes) const {
    const int64_t first = share.first_panel * kPanel;
    const int64_t filters = std::min(share.last_panel * kPanel, s_.out.channels) - first;
    TileCursor cursor(s_.tiles, 2 * begin);
    for (int64_t i = 0; i < pairs; ++i) {
      const bfloat16 *in[2][kIn * kIn], *out[2][kOut * kOut];
      for (int k = 0; k < 2; ++k, cursor.Next()) {
        cursor.FindInput(s_.in, src, outside_.data(), in[k]);
        cursor.FindResult(s_.out, d_dst + first, outside_.data(), out[k]);
        if (row == share.first_row) {
          PrefetchTile<kIn, false>(s_.in, s_.in.channels, in[k]);
          PrefetchTile<kOut, false>(s_.out, filters, out[k]);
        }
      }
      TransformInputPair(row, in[0], in[1], s_.in.channels, in_plane_, in_planes + i * kPanel);
      TransformOutputGradientPair(row, out[0], out[1], filters, out_plane_,
                                  out_planes + i * kPanel);
    }
  }
  // Whole panels: columns without a filter or channel add to sums that nothing reads.
  void Multiply(const Share& share, int64_t row, int64_t pairs, const BFloat16Pair* in_planes,
                const BFloat16Pair* out_planes, bool accumulate, float* sums) const {
    for (int64_t p = 0; p < kIn; ++p) {
      const int64_t plane = share.part * kPlanes + row * kIn + p;
      float* block = sums + plane * s_.plane + share.first_panel * s_.in_panels * Sizes::kBlock;
      for (int64_t m = 0; m < share.last_panel - share.first_panel; ++m) {
        for (int64_t c = 0; c < s_.in_panels; ++c, block += Sizes::kBlock) {
          MultiplyPanels(pairs, out_planes + p * out_plane_ + m * kPanelStep,
                         in_planes + p * in_plane_ + c * kPanelStep, kPanel, kPanel, accumulate,
                         kPanel, block);
        }
      }
    }
  }

  const Sizes& s_;
  const int64_t in_plane_, out_plane_;
  Layout layout_;
  const size_t in_place_, out_place_;
  const std::vector<bfloat16> outside_;
};

void PairFilterGradient::WriteFilters(const Sizes& s, float* sums, void* d_filter) const {
  ParallelFor(s.in_panels * s.out_panels, 1, [&](int64_t begin, int64_t end) {
    std::array<float, 9 * kPanel> buffer;
    for (int64_t number = begin; number < end; ++number) {
      float* block = sums + number * Sizes::kBlock;
      for (int64_t plane = 0; plane < kPlanes; ++plane) {
        for (int64_t part = 1; part < s.parts; ++part) {
          AddRow(Sizes::kBlock, block + (part * kPlanes + plane) * s.plane,
                 block + plane * s.plane);
        }
      }
      const int64_t m = number / s.in_panels * kPanel, c = number % s.in_panels * kPanel;
      const int64_t channels = std::min(kPanel, s.in.channels - c);
      for (int64_t i = 0; i < std::min(kPanel, s.out.channels - m); ++i) {
        TransformFilterGradient<bfloat16>(block + i * kPanel, s.plane, channels, buffer.data());
        for (int64_t k = 0; k < 9; ++k) {
          StoreFloats(problem_.filter_type, &buffer[k * channels], channels,
                      ((m + i) * 9 + k) * s.in.channels + c, d_filter);
        }
      }
    }
  });
}

void PairFilterGradient::Run(const void* src, const void* d_dst, void* d_filter,
                             void* d_bias) const {
  const Sizes s(problem_);
  // Threads share rows of planes of parts or, where there are more threads, panels of filters.
  const int64_t threads = omp_get_max_threads(), rows = s.parts * kIn;
  const int64_t splits = std::min(threads / std::gcd(threads, rows), s.out_panels);
  const Worker work(s, (s.out_panels + splits - 1) / splits);
  Layout layout;
  const size_t workers = layout.Add<char>(threads * work.bytes());
  const size_t sums_place = layout.Add<float>(s.parts * kPlanes * s.plane);
  char* scratch = ThreadScratch(layout.bytes());
  auto* sums = reinterpret_cast<float*>(scratch + sums_place);
  std::atomic<int> next_worker{0};
  ParallelFor(rows * splits, 1, [&](int64_t begin, int64_t end) {
    char* own = scratch + workers + next_worker++ * work.bytes();
    for (int64_t i = begin, count; i < end; i += count) {
      const int64_t split = i / kIn % splits, row = i % kIn;
      count = std::min(kIn - row, end - i);
      work.Run({i / kIn / splits, row, row + count, s.out_panels * split / splits,
                s.out_panels * (split + 1) / splits},
               static_cast<const bfloat16*>(src), static_cast<const bfloat16*>(d_dst), own, sums);
    }
  });
  WriteFilters(s, sums, d_filter);
  WriteBias(problem_.bias_type, s.out, static_cast<const bfloat16*>(d_dst), d_bias);
}

}  // namespace caffe2::onednn
