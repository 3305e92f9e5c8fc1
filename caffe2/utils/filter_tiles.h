// Products of the transpose of a matrix and another one, c = a^T b, for matrices of float or
// bfloat16 with many rows, as gradients of filters are sums over pixels. With AVX-512 (in bfloat16
// with VDPBF16PS) a tile of 6 x 64 sums stays in registers; other processors compute the same,
// more slowly than oneDNN.
#pragma once

#include <cstdint>

#include "caffe2/utils/tile_words.h"

namespace caffe2 {

// Products are computed in blocks of up to kTileSide x kTileSide numbers, over up to kTileWords
// words of each column at a time: a panel of kTileSide columns stays in a first-level cache.
inline constexpr int64_t kTileWords = 96;
inline constexpr int64_t kTilePanel = kTileSide * kTileWords;

// Some columns of rows that lie anywhere, from `column` on: kRowsOfWord<T> rows for each word.
template <typename T>
struct TileRows {
  const T* const* rows = nullptr;
  int64_t column = 0;
};

// Rows that will be used soon. Products ask for them meanwhile, so that nothing need wait for them.
template <typename T>
class RowsAhead {
 public:
  static constexpr int64_t kLine = 64 / sizeof(T);  // elements
  static constexpr int kParts = 5;

  // What is added is spread over so many products.
  explicit RowsAhead(int64_t products) : products_(products) {}
  // Columns from `begin` to `end` of rows, of which there are enough for each product. At most
  // kParts calls.
  void Add(const T* const* rows, int64_t begin, int64_t end) {
    parts_[end_++] = {rows, begin, end};
    lines_ += kRowsOfWord<T> * ((end - begin + kLine - 1) / kLine);
  }
  // What the next product asks for: a line of rows[0], rows[kRowsOfWord], and so on, one for each
  // word.
  TileRows<T> Next() {
    due_ += lines_;
    if (due_ < products_ || part_ == end_) return {};
    due_ -= products_;
    Part& part = parts_[part_];
    const TileRows<T> line{part.rows + row_, part.column};
    if (++row_ == kRowsOfWord<T>) {
      row_ = 0;
      part.column += kLine;
      if (part.column >= part.end) ++part_;
    }
    return line;
  }

 private:
  struct Part {
    const T* const* rows;
    int64_t column, end;
  };
  Part parts_[kParts];
  int part_ = 0, end_ = 0, row_ = 0;
  int64_t products_, lines_ = 0, due_ = 0;
};

// Copies `columns` columns of `words` words to a panel: to[r * kTileSide + i] is word r of column
// i, 0 from column `columns` on.
template <typename T>
void PackTilePanel(int64_t words, int64_t columns, const TileRows<T>& from, TileWord<T>* to);

// A block of c = a^T b, or c += a^T b.
template <typename T>
struct TileProduct {
  int64_t words;
  const TileWord<T>* a;  // word r of column i at a[r * a_step + i]
  int64_t a_step, a_columns;
  TileWord<T>* b;  // a panel
  int64_t b_columns;
  TileRows<T> unpacked;  // if rows are given, b is first made of these
  bool accumulate;
  float* c;
  int64_t c_step;
};

// The number of products that MultiplyTiles asks `ahead` for.
inline int64_t TilesOf(int64_t a_columns) {
  constexpr int64_t kSix = 6;
  const int64_t rest = a_columns % kSix;
  return a_columns / kSix + rest / 4 + rest % 4 / 2 + rest % 2;
}
// Runs in the calling thread. Each sum is over one word after the other; the old c is added last.
template <typename T>
void MultiplyTiles(const TileProduct<T>& product, RowsAhead<T>* ahead);

}  // namespace caffe2
