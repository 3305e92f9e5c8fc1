// Products of the rows of a matrix with panels of kWidePanel columns of another, for processors
// with AVX-512: a tile of 6 x 64 sums stays in registers, and rows are read where they lie. Rows
// and results are of T, float or bfloat16; sums are in float, each one after another, and are
// rounded once.
//
// A panel of float has a row of kWidePanel floats for each row of the matrix. A panel of bfloat16
// has a row of kWidePanel pairs for each two rows (bfloat16_pairs.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "caffe2/core/half.h"
#include "caffe2/utils/bfloat16_pairs.h"

namespace caffe2 {

inline constexpr int kTileRows = 6;
inline constexpr int64_t kWidePanel = 64;

template <typename T>
using WidePanelElement = std::conditional_t<std::is_same_v<T, float>, float, BFloat16Pair>;

// The rows of the matrix in one row of a panel.
template <typename T>
inline constexpr int64_t kPanelRowDepth = std::is_same_v<T, float> ? 1 : 2;

// True if the functions below run on this processor: it has AVX-512, and for bfloat16 the
// instruction VDPBF16PS.
template <typename T>
bool HasRowTiles();
template <>
bool HasRowTiles<float>();
template <>
bool HasRowTiles<bfloat16>();

// What becomes of a sum before it is stored, in this order.
struct RowEpilogue {
  const float* bias = nullptr;  // a value for each column, with which its sums begin; null: 0
  bool add = false;             // the old result is added
  bool relu = false;            // negative results become 0
};

// c[i][j] = the sum over k < depth of a[i][k] * b[k][j], for `rows` rows, 1 to kTileRows, and
// kWidePanel columns j. For bfloat16 `depth` is even. Runs in the calling thread.
template <typename T>
void MultiplyTile(int rows, int64_t depth, const T* const* a, const WidePanelElement<T>* b,
                  const RowEpilogue& epilogue, T* const* c);

// Copies kWidePanel columns of a matrix of `depth` rows, `step` elements apart, to a panel.
template <typename T>
void PackPanel(int64_t depth, int64_t step, const float* matrix, WidePanelElement<T>* to);
// The same for the columns of its transpose, which are `step` elements apart.
template <typename T>
void PackTransposedPanel(int64_t depth, int64_t step, const float* matrix, WidePanelElement<T>* to);

}  // namespace caffe2
