#include "caffe2/utils/tiled_filter_gradient.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "caffe2/utils/filter_blocks.h"
#include "caffe2/utils/filter_tiles.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

int64_t DivideRoundingUp(int64_t n, int64_t by) { return (n + by - 1) / by; }

// What a gradient is computed of.
template <typename T>
struct GradientInput {
  const ImagePatches& patches;
  const T *images, *gradients;
  const T* outside;  // zeros, for a pixel or the gradient of one
};

// A range of blocks over some rows of patches, which one thread computes.
template <typename T>
class BlockWorker {
 public:
  using Word = TileWord<T>;

  // Gradients in float are read where they lie; pairs of bfloat16 are interleaved first.
  static constexpr bool kPacksGradients = kRowsOfWord<T> > 1;
  // The memory that a worker needs: for the panels of the inner side and one of the other one.
  static int64_t BytesFor(const FilterBlocks& blocks) {
    const int64_t panels = blocks.by_filter() ? blocks.inner() : 1;
    const int64_t gradients = blocks.by_filter() ? 1 : blocks.inner();
    return (panels + (kPacksGradients ? gradients : 0)) * kTilePanel *
           static_cast<int64_t>(sizeof(Word));
  }

  BlockWorker(const GradientInput<T>& input, const FilterBlocks& blocks, int64_t begin, int64_t end,
              char* scratch)
      : in_(input),
        p_(input.patches),
        blocks_(blocks),
        begin_(begin),
        end_(end),
        sides_(blocks.SidesOf(begin, end)),
        panels_(reinterpret_cast<Word*>(scratch)),
        packed_(panels_ + (blocks.by_filter() ? blocks.inner() : 1) * kTilePanel) {
    ChooseTapsAhead();
  }

  // Over patches `first` to `last`, in chunks of about the same size; first is a multiple of
  // kRowsOfWord<T>.
  void Run(int64_t first, int64_t last, float* d_filter) {
    const int64_t words = DivideRoundingUp(last - first, kRowsOfWord<T>);
    const int64_t chunks = std::max<int64_t>(1, DivideRoundingUp(words, kTileWords));
    const int64_t length = DivideRoundingUp(words, chunks);
    FindRows(first, ahead_);
    for (int64_t row = first; row < last; row += length * kRowsOfWord<T>) {
      row_ = row;
      std::swap(now_, ahead_);
      words_ = std::min(length, DivideRoundingUp(last - row, kRowsOfWord<T>));
      RunChunk(row > first, d_filter);
    }
  }

 private:
  static constexpr int64_t kMaxRows = kTileWords * kRowsOfWord<T>;
  static constexpr int kMaxTaps = RowsAhead<T>::kParts - 1;

  // The pixels of the next chunk that are asked for ahead: with several elements of the kernel,
  // the ones under a corner of the size of a stride, which are all pixels once.
  void ChooseTapsAhead() {
    const FilterBlocks::Block from = blocks_.At(begin_), to = blocks_.At(end_ - 1);
    const bool one_tap = !blocks_.by_filter() && from.tap == to.tap;
    channels_ahead_ = {0, p_.channels()};
    if (one_tap) {
      taps_ahead_[taps_++] = from.tap;
      channels_ahead_ = {from.channel, to.channel + to.columns};
      return;
    }
    for (const int64_t tap : p_.TapsOfStride()) {
      if (taps_ < kMaxTaps) taps_ahead_[taps_++] = tap;
    }
  }

  RowsAhead<T> Ahead() {
    int64_t tiles = 0;
    for (int64_t block = begin_; block < end_; ++block) tiles += TilesOf(blocks_.At(block).rows);
    RowsAhead<T> ahead(tiles);
    const int64_t next = row_ + words_ * kRowsOfWord<T>;
    if (next >= p_.images() * p_.rows()) return ahead;
    FindRows(next, ahead_);
    const BlockRange& filters = sides_.filters;
    ahead.Add(ahead_->gradients, filters.begin * kTileSide,
              std::min(p_.filters(), filters.end * kTileSide));
    for (int i = 0; i < taps_; ++i) {
      ahead.Add(ahead_->pixels[i], channels_ahead_.begin, channels_ahead_.end);
    }
    return ahead;
  }

  void RunChunk(bool accumulate, float* d_filter) {
    RowsAhead<T> ahead = Ahead();
    tap_ = -1;
    for (int64_t block = begin_; block < end_; ++block) {
      const FilterBlocks::Block b = blocks_.At(block);
      // Each panel of the inner side is made once, and one of the other side at a time.
      const bool new_outer = block == begin_ || block % blocks_.inner() == 0;
      const bool new_inner = block - begin_ < blocks_.inner();
      TileProduct<T> product;
      product.words = words_;
      SetGradients(b, blocks_.by_filter() ? new_outer : new_inner, &product);
      SetPanel(b, blocks_.by_filter() ? new_inner : new_outer, &product);
      product.accumulate = accumulate;
      product.c = d_filter + b.offset;
      product.c_step = p_.width();
      MultiplyTiles(product, &ahead);
    }
  }

  void SetGradients(const FilterBlocks::Block& b, bool is_new, TileProduct<T>* product) {
    const int64_t m = b.filter * kTileSide;
    product->a_columns = b.rows;
    if constexpr (kPacksGradients) {
      Word* to = packed_ + (blocks_.by_filter() ? 0 : b.filter * kTilePanel);
      if (is_new) PackTilePanel<T>(words_, b.rows, {now_->gradients, m}, to);
      product->a = to;
      product->a_step = kTileSide;
    } else {
      product->a = in_.gradients + row_ * p_.filters() + m;
      product->a_step = p_.filters();
    }
  }

  void SetPanel(const FilterBlocks::Block& b, bool is_new, TileProduct<T>* product) {
    product->b_columns = b.columns;
    product->b = panels_ + (blocks_.by_filter() ? b.panel * kTilePanel : 0);
    if (is_new) product->unpacked = {PixelsOf(b.tap), b.channel};
  }

  const T* const* PixelsOf(int64_t tap) {
    for (int i = 0; i < taps_; ++i) {
      if (taps_ahead_[i] == tap) return now_->pixels[i];
    }
    if (tap != tap_) FindPixels(row_, tap, pixels_);
    tap_ = tap;
    return pixels_;
  }

  // Where the rows of a chunk lie from `row` on: gradients, and pixels of the taps ahead.
  struct Rows {
    const T *gradients[kMaxRows], *pixels[kMaxTaps][kMaxRows];
  };
  void FindRows(int64_t row, Rows* rows) const {
    const int64_t wanted = std::min(kMaxRows, p_.images() * p_.rows() - row);
    for (int64_t i = 0; i < wanted; ++i) {
      rows->gradients[i] = in_.gradients + (row + i) * p_.filters();
    }
    std::fill(rows->gradients + wanted, rows->gradients + kMaxRows, in_.outside);
    for (int i = 0; i < taps_; ++i) FindPixels(row, taps_ahead_[i], rows->pixels[i]);
  }
  void FindPixels(int64_t row, int64_t tap, const T** pixels) const {
    p_.PixelsUnder(tap, row, kMaxRows, in_.images, in_.outside, pixels);
  }

  const GradientInput<T>& in_;
  const ImagePatches& p_;
  const FilterBlocks& blocks_;
  const int64_t begin_, end_;
  const FilterBlocks::Sides sides_;
  Word *const panels_, *const packed_;
  int64_t row_ = 0, words_ = 0, tap_ = -1;  // of the chunk; of pixels_
  const T* pixels_[kMaxRows];
  int taps_ = 0;
  int64_t taps_ahead_[kMaxTaps];
  BlockRange channels_ahead_;
  Rows rows_[2];
  Rows *now_ = &rows_[0], *ahead_ = &rows_[1];
};

// The number of parts into which sums over many patches are divided, so that each thread reads
// whole rows once. With large filters the sums of a part would not stay in the cache of a core, and
// it takes time to add the sums of many parts.
int64_t PartsOf(const ImagePatches& p, int64_t rows_of_word) {
  constexpr int64_t kMaxSums = int64_t{1} << 16, kMaxSumsOfParts = int64_t{1} << 18;
  constexpr int64_t kMinWords = 8 * kTileWords, kMaxParts = 32;
  const int64_t size = p.filters() * p.width();
  const int64_t words = p.images() * p.rows() / rows_of_word;
  if (size > kMaxSums) return 1;
  int64_t parts = 1;  // a power of 2: most numbers of threads divide the parts evenly
  while (parts < kMaxParts && words >= 2 * parts * kMinWords &&
         2 * parts * size <= kMaxSumsOfParts) {
    parts *= 2;
  }
  return parts;
}

}  // namespace

template <typename T>
void TiledFilterGradient(const ImagePatches& p, const T* images, const T* gradients,
                         float* d_filter) {
  const std::vector<T> outside(std::max(p.filters(), p.channels()));
  const GradientInput<T> input{p, images, gradients, outside.data()};
  const FilterBlocks blocks(p);
  const int64_t parts = PartsOf(p, kRowsOfWord<T>), rows = p.images() * p.rows();
  const int64_t of_part = DivideRoundingUp(rows, parts * kRowsOfWord<T>) * kRowsOfWord<T>;
  const int64_t size = p.filters() * p.width(), count = blocks.count();
  const int64_t bytes = BlockWorker<T>::BytesFor(blocks);
  const int64_t threads = std::min<int64_t>(omp_get_max_threads(), parts * count);
  // The first part is summed in d_filter, to which the others are added.
  char* scratch = ThreadScratch(threads * bytes + (parts - 1) * size * sizeof(float));
  auto* sums = reinterpret_cast<float*>(scratch + threads * bytes);
  std::atomic<int> next_thread{0};
  ParallelFor(parts * count, 1, [&](int64_t begin, int64_t end) {
    char* own = scratch + next_thread++ * bytes;
    for (int64_t i = begin; i < end;) {
      const int64_t part = i / count, stop = std::min(end, (part + 1) * count);
      BlockWorker<T>(input, blocks, i - part * count, stop - part * count, own)
          .Run(part * of_part, std::min(rows, (part + 1) * of_part),
               part == 0 ? d_filter : sums + (part - 1) * size);
      i = stop;
    }
  });
  if (parts == 1) return;
  ParallelFor(size, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t part = 0; part + 1 < parts; ++part) {
      for (int64_t i = begin; i < end; ++i) d_filter[i] += sums[part * size + i];
    }
  });
}

template void TiledFilterGradient<float>(const ImagePatches&, const float*, const float*, float*);
template void TiledFilterGradient<bfloat16>(const ImagePatches&, const bfloat16*, const bfloat16*,
                                            float*);

}  // namespace caffe2::onednn
