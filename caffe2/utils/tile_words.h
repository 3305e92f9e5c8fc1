// What products in tiles of registers are made of (row_tiles.h, filter_tiles.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "caffe2/core/half.h"
#include "caffe2/utils/bfloat16_pairs.h"
#include "caffe2/utils/onednn_processor.h"

namespace caffe2 {

// What a lane of a vector multiplies at a time: a float, or bfloat16 of two rows of a matrix.
template <typename T>
using TileWord = std::conditional_t<std::is_same_v<T, float>, float, BFloat16Pair>;
template <typename T>
inline constexpr int64_t kRowsOfWord = sizeof(TileWord<T>) / sizeof(T);

// The columns of a panel: a row of kTileSide words for each kRowsOfWord<T> rows of a matrix.
inline constexpr int64_t kTileSide = 64;

// True if this processor has the instructions with which tiles stay in registers: AVX-512, and for
// bfloat16 VDPBF16PS.
template <typename T>
bool HasTileInstructions() {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if constexpr (std::is_same_v<T, float>) return onednn::HasAvx512();
  return onednn::HasPairInstruction();
#else
  return false;
#endif
}

}  // namespace caffe2
