#include "caffe2/utils/winograd_panels.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "caffe2/core/allocator.h"
#include "caffe2/utils/float_panels.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/onednn_winograd_parts.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {

using namespace winograd;

namespace {

using FloatTile = WinogradTile<float>;
constexpr int64_t kFloatPlanes = FloatTile::kPlanes;
constexpr int64_t kLineFloats = LinesAhead::kLine;

int64_t DivideUp(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Tiles of 4x4 results.
struct TileNumbers : NumberedTiles {
  TileNumbers(const Image& result, int64_t pad_top, int64_t pad_left)
      : NumberedTiles(result, pad_top, pad_left, FloatTile::kOut) {}

  // The pixels of the input that tile `tile` needs.
  void FindInput(const Image& image, int64_t tile, const float* data, const float* outside,
                 const float** pixels) const {
    Find<FloatTile::kIn>(image, tile, top, left, data, outside, pixels);
  }
  // The pixels of the tile's result.
  template <typename Pixel>
  void FindResult(const Image& image, int64_t tile, Pixel* data, Pixel* outside,
                  Pixel** pixels) const {
    Find<FloatTile::kOut>(image, tile, 0, 0, data, outside, pixels);
  }
  template <int kSide, typename Pixel>
  void Find(const Image& image, int64_t tile, int64_t y, int64_t x, Pixel* data, Pixel* outside,
            Pixel** pixels) const {
    FindPixels<kSide>(image, tile / (down * across), y + FloatTile::kOut * (tile / across % down),
                      x + FloatTile::kOut * (tile % across), data, outside, pixels);
  }

  // How many pixels of an image lie before the row of a tile, which may be after the last one.
  int64_t PixelsTo(int64_t tile, const Image& image) const {
    const int64_t row = std::min(tile, count) / across;
    const int64_t y = row / down * image.height + row % down * FloatTile::kOut;
    return y * image.width;
  }
};

// The transforms of `tiles` tiles: planes of strips. Their distances are odd numbers of cache
// lines, so that planes and strips do not compete for the same few lines.
struct StripPlanes {
  StripPlanes(int64_t tiles, int64_t channels)
      : strips(channels / kPanel),
        strip(tiles * kPanel + kLineFloats),
        plane(strips * strip + (strips % 2 == 0 ? kLineFloats : 0)) {}
  int64_t size() const { return kFloatPlanes * plane; }

  int64_t strips, strip, plane;
};

// to[j][i] = from[i * step + j] for kPanel rows and columns.
CAFFE2_SIMD_CLONES void TransposeBlock(int64_t step, const float* from, float* to) {
  for (int64_t j = 0; j < kPanel; ++j) {
#pragma omp simd
    for (int64_t i = 0; i < kPanel; ++i) to[j * kPanel + i] = from[i * step + j];
  }
}

// Few threads each transform what all of them need: caches of several cores that exchange it are
// slow. Among many threads, and if it is large, each transforms a part.
bool SharesTransforms(int64_t floats) {
  constexpr int kFewThreads = 4;
  constexpr int64_t kFewFloats = 1 << 20;
  return omp_get_max_threads() > kFewThreads || floats > kFewFloats;
}

}  // namespace

bool PanelWinogradSupports(const ConvProblem& p) {
  return FloatPanelsUseAvx512() && p.channels_last && p.type.Match<float>() &&
         p.filter_type.Match<float>() && p.filter[0] % kPanel == 0 && p.filter[1] % kPanel == 0;
}

// What does not change from run to run.
struct PanelCorrelation::Sizes {
  Sizes(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left)
      : in(in),
        out(out),
        tiles(out, pad_top, pad_left),
        by_filter(out.channels > tiles.count),
        chunk(ChunkOf(tiles.count, in.channels, by_filter ? 1 : omp_get_max_threads())),
        chunks(DivideUp(tiles.count, chunk)),
        input(chunk, in.channels),
        filter_plane(in.channels * kPanel + kLineFloats),
        filter_panel(kFloatPlanes * filter_plane),
        panels(out.channels / kPanel),
        result_plane(chunk * kPanel + kLineFloats) {}

  // `threads` divide the chunks.
  static int64_t ChunkOf(int64_t count, int64_t channels, int64_t threads) {
    // The transforms of a chunk stay in the second-level cache if it is not too short for products.
    constexpr int64_t kCacheFloats = 150 << 10, kMin = 32, kMax = 64;
    const int64_t most = std::clamp(kCacheFloats / (kFloatPlanes * channels), kMin, kMax);
    const int64_t wanted = DivideUp(DivideUp(count, most), threads) * threads;
    return DivideUp(DivideUp(count, wanted), kStripRows) * kStripRows;
  }

  int64_t filters_size() const { return panels * filter_panel; }
  // A part is a panel of filters or a chunk of tiles, see by_filter. Every part needs all common
  // pieces, the transforms of the others.
  int64_t parts() const { return by_filter ? panels : chunks; }
  int64_t part_size() const { return by_filter ? filter_panel : input.size(); }
  int64_t pieces() const { return by_filter ? chunks : panels; }
  int64_t piece_size() const { return by_filter ? input.size() : filter_panel; }

  const Image in, out;
  const TileNumbers tiles;
  // Threads divide panels of filters, or else chunks of tiles: what needs more memory. Each thread
  // transforms its part when it needs it.
  const bool by_filter;
  const int64_t chunk, chunks;  // of tiles
  const StripPlanes input;      // of a chunk
  // The transforms of filters: panels of kPanel filters, each with all its planes.
  const int64_t filter_plane, filter_panel, panels;
  const int64_t result_plane;
};

class PanelCorrelation::Worker {
 public:
  Worker(const Sizes& sizes, bool rotated, const float* in, const float* filter,
         const WinogradEpilogue& epilogue, float* out)
      : s_(sizes),
        rotated_(rotated),
        in_(in),
        filter_(filter),
        epilogue_(epilogue),
        out_(out),
        zeros_(sizes.in.channels) {}

  void TransformPart(int64_t part, float* planes) const {
    s_.by_filter ? TransformFilters(part, planes) : TransformTiles(part, planes);
  }
  void TransformAllFilters(float* all) const {
    ParallelFor(s_.panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) TransformFilters(i, all + i * s_.filter_panel);
    });
  }
  // The pieces from `begin` to `end`, to their places in `all`.
  void TransformPieces(int64_t begin, int64_t end, float* all) const {
    for (int64_t i = begin; i < end; ++i) {
      float* planes = all + i * s_.piece_size();
      s_.by_filter ? TransformTiles(i, planes) : TransformFilters(i, planes);
    }
  }
  // The results of a part, whose transforms are `planes`.
  void MultiplyPart(int64_t part, const float* planes, const float* all, float* results) const {
    for (int64_t i = 0; i < s_.pieces(); ++i) {
      const float* piece = all + i * s_.piece_size();
      if (s_.by_filter) {
        Multiply(i, piece, part, planes, results);
      } else {
        Multiply(part, planes, i, piece, results);
      }
    }
  }

 private:
  void TransformTiles(int64_t chunk, float* planes) const {
    const int64_t first = chunk * s_.chunk, count = CountOf(chunk);
    for (int64_t i = 0; i < count; ++i) {
      const float* pixels[FloatTile::kIn * FloatTile::kIn];
      s_.tiles.FindInput(s_.in, first + i, in_, zeros_.data(), pixels);
      TransformInputStrips(pixels, s_.in.channels, s_.input.strip, s_.input.plane,
                           planes + i * kPanel);
    }
  }

  void TransformFilters(int64_t panel, float* planes) const {
    if (rotated_) {
      const int64_t channels = s_.out.channels;
      const float* last = filter_ + 8 * channels + panel * kPanel;
      for (int64_t m = 0; m < s_.in.channels; ++m) {
        TransformFilter(last + m * 9 * channels, -channels, kPanel, s_.filter_plane,
                        planes + m * kPanel);
      }
      return;
    }
    constexpr int64_t kBlock = kPanel * kPanel;
    const int64_t channels = s_.in.channels;
    std::array<float, 9 * kBlock> taps;
    for (int64_t c = 0; c < channels; c += kPanel) {
      for (int64_t k = 0; k < 9; ++k) {
        TransposeBlock(9 * channels, filter_ + (panel * kPanel * 9 + k) * channels + c,
                       &taps[k * kBlock]);
      }
      for (int64_t i = 0; i < kPanel; ++i) {
        TransformFilter(&taps[i * kPanel], kBlock, kPanel, s_.filter_plane,
                        planes + (c + i) * kPanel);
      }
    }
  }

  // The results of a chunk for a panel of filters.
  void Multiply(int64_t chunk, const float* input, int64_t panel, const float* filters,
                float* results) const {
    const int64_t first = chunk * s_.chunk, count = CountOf(chunk);
    const int64_t rows = DivideUp(count, kStripRows) * kStripRows;
    LinesAhead ahead = Ahead(chunk, panel, filters, kFloatPlanes * rows / kStripRows);
    for (int64_t p = 0; p < kFloatPlanes; ++p) {
      MultiplyFloatStrips(rows, s_.input.strips, s_.input.strip, input + p * s_.input.plane,
                          filters + p * s_.filter_plane, false, kPanel,
                          results + p * s_.result_plane, &ahead);
    }
    WinogradEpilogue epilogue = epilogue_;
    epilogue.bias += panel * kPanel;
    float outside[kPanel];
    for (int64_t i = 0; i < count; ++i) {
      float* pixels[FloatTile::kOut * FloatTile::kOut];
      s_.tiles.FindResult<float>(s_.out, first + i, out_ + panel * kPanel, outside, pixels);
      TransformOutput(results + i * kPanel, s_.result_plane, kPanel, epilogue, pixels);
    }
  }

  // Asks for where the results will be and, if the thread will transform it next, for a part of the
  // next chunk's input.
  LinesAhead Ahead(int64_t chunk, int64_t panel, const float* filters, int64_t products) const {
    LinesAhead ahead(products);
    if (s_.by_filter)
      ahead.AddRange(filters + s_.filter_plane, filters + s_.filter_panel, s_.in.channels);
    const int64_t first = chunk * s_.chunk, next = first + s_.chunk, rows = s_.in.channels;
    const int64_t pixels = s_.tiles.PixelsTo(next, s_.out) - s_.tiles.PixelsTo(first, s_.out);
    float* to = out_ + s_.tiles.PixelsTo(first, s_.out) * s_.out.channels + panel * kPanel;
    for (int64_t i = 0; i < kPanel; i += LinesAhead::kLine) {
      ahead.Add({to + i, s_.out.channels}, rows * s_.out.channels, DivideUp(pixels, rows));
    }
    if (!s_.by_filter) {
      const int64_t begin = s_.tiles.PixelsTo(next, s_.in) * s_.in.channels;
      const int64_t size = s_.tiles.PixelsTo(next + s_.chunk, s_.in) * s_.in.channels - begin;
      ahead.AddRange(in_ + begin + size * panel / s_.panels,
                     in_ + begin + size * (panel + 1) / s_.panels, rows);
    }
    return ahead;
  }
  int64_t CountOf(int64_t chunk) const {
    return std::min(s_.chunk, s_.tiles.count - chunk * s_.chunk);
  }

  const Sizes& s_;
  const bool rotated_;
  const float *in_, *filter_;
  const WinogradEpilogue epilogue_;
  float* out_;
  const std::vector<float> zeros_;
};

PanelCorrelation::PanelCorrelation(const ConvProblem& problem, bool rotated)
    : problem_(problem), rotated_(rotated), sizes_([&] {
        const Image src = MakeImage(problem.src), dst = MakeImage(problem.dst);
        const int64_t top = problem.pad_begin[0], left = problem.pad_begin[1];
        return rotated ? std::make_shared<const Sizes>(dst, src, 2 - top, 2 - left)
                       : std::make_shared<const Sizes>(src, dst, top, left);
      }()) {}

const float* PanelCorrelation::KeptFilters(const Worker& worker, const void* filter) {
  if (rotated_ || !problem_.constant_filter) return nullptr;
  if (!kept_) {
    kept_ = GetAllocator(CPU).Allocate(sizes_->filters_size() * sizeof(float), Device{});
  }
  auto* filters = static_cast<float*>(kept_.get());
  if (kept_source_ != filter) worker.TransformAllFilters(filters);
  kept_source_ = filter;
  return filters;
}

void PanelCorrelation::Run(const void* in, const void* filter, const void* bias, void* out) {
  const Sizes& s = *sizes_;
  std::vector<float> bias_buffer(s.out.channels);
  const WinogradEpilogue epilogue{
      bias ? AsFloat(problem_.bias_type, bias, 0, s.out.channels, &bias_buffer)
           : bias_buffer.data(),
      !rotated_ && problem_.add_to_dst, !rotated_ && problem_.relu};
  const Worker worker(s, rotated_, static_cast<const float*>(in), static_cast<const float*>(filter),
                      epilogue, static_cast<float*>(out));
  const float* kept = KeptFilters(worker, filter);
  const float *kept_parts = s.by_filter ? kept : nullptr,
              *kept_pieces = s.by_filter ? nullptr : kept;
  const int64_t threads = omp_get_max_threads();
  const int64_t all_size = kept_pieces ? 0 : s.pieces() * s.piece_size();
  const int64_t part_size = kept_parts ? 0 : s.part_size();
  const bool share = SharesTransforms(all_size);
  const int64_t results_size = kFloatPlanes * s.result_plane;
  const int64_t thread_size = part_size + results_size + (share ? 0 : all_size);
  auto* shared = reinterpret_cast<float*>(
      ThreadScratch(((share ? all_size : 0) + threads * thread_size) * sizeof(float)));
  float* of_threads = shared + (share ? all_size : 0);
  if (share && !kept_pieces) {
    ParallelFor(s.pieces(), 1,
                [&](int64_t begin, int64_t end) { worker.TransformPieces(begin, end, shared); });
  }
  std::atomic<int> next_thread{0};
  ParallelFor(s.parts(), 1, [&](int64_t begin, int64_t end) {
    float* planes = of_threads + next_thread++ * thread_size;
    float* results = planes + part_size;
    float* own = results + results_size;
    if (!share && !kept_pieces) worker.TransformPieces(0, s.pieces(), own);
    const float* all = kept_pieces ? kept_pieces : share ? shared : own;
    for (int64_t part = begin; part < end; ++part) {
      if (!kept_parts) worker.TransformPart(part, planes);
      worker.MultiplyPart(part, kept_parts ? kept_parts + part * s.part_size() : planes, all,
                          results);
    }
  });
}

struct PanelWinogradFilterGradient::Sizes {
  // With up to 256 channels the transforms of the tiles of a segment stay in the last-level cache.
  // Sums of pieces of a segment are summed, and then sums of segments: so rounding errors stay
  // small.
  static constexpr int64_t kPiece = 32, kSegment = 8 * kPiece;

  Sizes(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left)
      : in(in),
        out(out),
        tiles(out, pad_top, pad_left),
        segment(std::min(kSegment, tiles.count)),
        channel_panels(in.channels / kPanel),
        blocks(channel_panels * (out.channels / kPanel)) {}

  const Image in, out;
  const TileNumbers tiles;
  const int64_t segment;
  const int64_t channel_panels;
  const int64_t blocks;  // of kPanel filters and kPanel channels
};

// Transforms what some blocks need and multiplies it.
class PanelWinogradFilterGradient::Worker {
 public:
  // Of the sums of a block: kPanel filters by kPanel channels.
  static constexpr int64_t kPlane = kPanel * kPanel + kLineFloats;
  static constexpr int64_t kBlock = kFloatPlanes * kPlane;
  // The floats that any worker needs.
  static int64_t SizeOf(const Sizes& s) {
    return StripPlanes(s.segment, s.in.channels).size() +
           StripPlanes(s.segment, s.out.channels).size();
  }

  // For the blocks from `begin` to `end`.
  Worker(const Sizes& sizes, int64_t begin, int64_t end, const float* src, const float* d_dst,
         float* scratch)
      : s_(sizes),
        begin_(begin),
        end_(end),
        filter_(begin / s_.channel_panels),
        channel_(OneRow() ? begin % s_.channel_panels : 0),
        input_(s_.segment, kPanel * (OneRow() ? end - begin : s_.channel_panels)),
        gradient_(s_.segment, kPanel * ((end - 1) / s_.channel_panels + 1 - filter_)),
        src_(src),
        d_dst_(d_dst),
        input_planes_(scratch),
        gradient_planes_(scratch + input_.size()),
        zeros_(std::max(s_.in.channels, s_.out.channels)) {}

  // Transforms tile `first` + i of the images.
  void TransformTile(int64_t first, int64_t i) const {
    const float* pixels[FloatTile::kIn * FloatTile::kIn];
    s_.tiles.FindInput(s_.in, first + i, src_ + channel_ * kPanel, zeros_.data(), pixels);
    TransformInputStrips(pixels, input_.strips * kPanel, input_.strip, input_.plane,
                         input_planes_ + i * kPanel);
    s_.tiles.FindResult(s_.out, first + i, d_dst_ + filter_ * kPanel, zeros_.data(), pixels);
    TransformOutputGradientStrips(pixels, gradient_.strips * kPanel, gradient_.strip,
                                  gradient_.plane, gradient_planes_ + i * kPanel);
  }

  // sums = the products of `count` tiles from `first` on for a block.
  void Multiply(int64_t block, int64_t first, int64_t count, float* sums) const {
    const float* a = gradient_planes_ + (block / s_.channel_panels - filter_) * gradient_.strip;
    const float* b = input_planes_ + (block % s_.channel_panels - channel_) * input_.strip;
    LinesAhead ahead(kFloatPlanes * DivideUp(count, Sizes::kPiece) * kPanel / kStripRows);
    AddPart(block, first + count, s_.in, src_, &ahead);
    AddPart(block, first + count, s_.out, d_dst_, &ahead);
    for (int64_t p = 0; p < kFloatPlanes; ++p) {
      for (int64_t i = 0; i < count; i += Sizes::kPiece) {
        MultiplyFloatPanels(std::min(Sizes::kPiece, count - i),
                            a + p * gradient_.plane + i * kPanel, b + p * input_.plane + i * kPanel,
                            kPanel, kPanel, i > 0, kPanel, sums + p * kPlane, &ahead);
      }
    }
  }

  void WriteFilters(int64_t block, const float* sums, float* d_filter) const {
    const int64_t channels = s_.in.channels;
    const int64_t m = block / s_.channel_panels * kPanel, c = block % s_.channel_panels * kPanel;
    std::array<float, 9 * kPanel> rows;
    for (int64_t i = 0; i < kPanel; ++i) {
      TransformFilterGradient<float>(sums + i * kPanel, kPlane, kPanel, rows.data());
      for (int64_t k = 0; k < 9; ++k) {
        std::copy_n(&rows[k * kPanel], kPanel, d_filter + ((m + i) * 9 + k) * channels + c);
      }
    }
  }

 private:
  // True if all blocks are of the same filters.
  bool OneRow() const { return (end_ - 1) / s_.channel_panels == begin_ / s_.channel_panels; }
  // Asks for a part of the next segment's pixels in each block.
  void AddPart(int64_t block, int64_t tile, const Image& image, const float* data,
               LinesAhead* ahead) const {
    const int64_t begin = s_.tiles.PixelsTo(tile, image) * image.channels;
    const int64_t size = s_.tiles.PixelsTo(tile + s_.segment, image) * image.channels - begin;
    const int64_t parts = end_ - begin_, part = block - begin_;
    ahead->AddRange(data + begin + size * part / parts, data + begin + size * (part + 1) / parts,
                    Sizes::kPiece);
  }

  const Sizes& s_;
  const int64_t begin_, end_;
  const int64_t filter_, channel_;  // the first panels of filters and channels
  const StripPlanes input_, gradient_;
  const float *src_, *d_dst_;
  float *input_planes_, *gradient_planes_;
  const std::vector<float> zeros_;
};

// The sums of blocks over the tiles.
struct PanelWinogradFilterGradient::Sums {
  const Sizes& s;
  const bool several;  // segments
  float* of_threads;   // over a segment, a block for each thread
  float* totals;       // over all segments, if there are several
  float* d_filter;

  // Adds the segment of tiles from `first` on for the blocks from `begin` to `end`. After the last
  // segment, writes their filters.
  void Add(const Worker& work, int64_t begin, int64_t end, int64_t first, int thread) const {
    const int64_t count = std::min(s.segment, s.tiles.count - first);
    float* of_segment = of_threads + thread * Worker::kBlock;
    for (int64_t block = begin; block < end; ++block) {
      work.Multiply(block, first, count, of_segment);
      float* total = several ? totals + block * Worker::kBlock : of_segment;
      if (several && first == 0) std::copy_n(of_segment, Worker::kBlock, total);
      if (first > 0) AddRow(Worker::kBlock, of_segment, total);
      if (first + count == s.tiles.count) work.WriteFilters(block, total, d_filter);
    }
  }
};

PanelWinogradFilterGradient::PanelWinogradFilterGradient(const ConvProblem& problem)
    : problem_(problem),
      sizes_(std::make_shared<const Sizes>(MakeImage(problem.src), MakeImage(problem.dst),
                                           problem.pad_begin[0], problem.pad_begin[1])) {}

void PanelWinogradFilterGradient::Run(const void* src, const void* d_dst, void* d_filter,
                                      void* d_bias) const {
  const Sizes& s = *sizes_;
  const bool several = s.segment < s.tiles.count, share = !several || SharesTransforms(0);
  const int64_t threads = omp_get_max_threads(), planes = Worker::SizeOf(s);
  const int64_t all_planes = (share ? 1 : threads) * planes;
  const int64_t blocks = threads + (several ? s.blocks : 0);
  auto* scratch = reinterpret_cast<float*>(
      ThreadScratch((all_planes + blocks * Worker::kBlock) * sizeof(float)));
  float* of_threads = scratch + all_planes;
  const Sums sums{s, several, of_threads, of_threads + threads * Worker::kBlock,
                  static_cast<float*>(d_filter)};
  const auto worker = [&](int64_t begin, int64_t end, float* place) {
    return Worker(s, begin, end, static_cast<const float*>(src), static_cast<const float*>(d_dst),
                  place);
  };
  if (share) {
    const Worker all = worker(0, s.blocks, scratch);
    for (int64_t first = 0; first < s.tiles.count; first += s.segment) {
      ParallelFor(std::min(s.segment, s.tiles.count - first), 8, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) all.TransformTile(first, i);
      });
      std::atomic<int> next_thread{0};
      ParallelFor(s.blocks, 1, [&](int64_t begin, int64_t end) {
        sums.Add(all, begin, end, first, next_thread++);
      });
    }
  } else {
    std::atomic<int> next_thread{0};
    ParallelFor(s.blocks, 1, [&](int64_t begin, int64_t end) {
      const int thread = next_thread++;
      const Worker own = worker(begin, end, scratch + thread * planes);
      for (int64_t first = 0; first < s.tiles.count; first += s.segment) {
        const int64_t count = std::min(s.segment, s.tiles.count - first);
        for (int64_t i = 0; i < count; ++i) own.TransformTile(first, i);
        sums.Add(own, begin, end, first, thread);
      }
    });
  }
  WriteBias(problem_.bias_type, s.out, static_cast<const float*>(d_dst), d_bias);
}

}  // namespace caffe2::onednn
