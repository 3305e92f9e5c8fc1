// Products of the rows of a matrix with panels of kTileSide columns of another, for processors that
// have HasTileInstructions<T>(): a tile of 6 x 64 sums stays in registers, and rows are read where
// they lie. Rows and results are of T, float or bfloat16; sums are in float, each one after
// another, and are rounded once. The length of sums, `depth`, is even for bfloat16.
#pragma once

#include <cstdint>

#include "caffe2/utils/tile_words.h"

namespace caffe2 {

inline constexpr int kTileRows = 6;

// What becomes of a sum before it is stored, in this order.
struct RowEpilogue {
  const float* bias = nullptr;  // a value for each column, with which its sums begin; null: 0
  bool add = false;             // the old result is added
  bool relu = false;            // negative results become 0
};

// c[i][j] = the sum over k < depth of a[i][k] * b[k][j], for `rows` rows, 1 to kTileRows, and
// kTileSide columns j. Runs in the calling thread.
template <typename T>
void MultiplyTile(int rows, int64_t depth, const T* const* a, const TileWord<T>* b,
                  const RowEpilogue& epilogue, T* const* c);

// Copies kTileSide columns of a matrix of `depth` rows, `step` elements apart, to a panel.
template <typename T>
void PackPanel(int64_t depth, int64_t step, const float* matrix, TileWord<T>* to);
// The same for the columns of its transpose, which are `step` elements apart.
template <typename T>
void PackTransposedPanel(int64_t depth, int64_t step, const float* matrix, TileWord<T>* to);

}  // namespace caffe2
