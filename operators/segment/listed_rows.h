// Reductions of rows that lie far apart in a table, for SparseLengthsSum and its relatives. They
// work on blocks of columns, whose results stay in registers, and prefetch rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "caffe2/utils/simd.h"

namespace caffe2 {

// The rows of one segment.
struct ListedRows {
  const int64_t* rows;   // their numbers in the table; null: 0, 1, 2, ...
  int64_t n;             // how many there are
  int64_t listed;        // how many numbers may be read, for prefetches; at least n
  const float* weights;  // of the rows; null: all are 1

  CAFFE2_INLINE int64_t Row(int64_t k) const { return rows == nullptr ? k : rows[k]; }
  // The row to prefetch while row k is read, if rows have numbers.
  CAFFE2_INLINE int64_t Ahead(int64_t k) const {
    constexpr int64_t kDistance = 8;
    return rows[std::min(k + kDistance, listed - 1)];
  }
  CAFFE2_INLINE float Weight(int64_t k) const { return weights == nullptr ? 1.f : weights[k]; }
};

template <int kBytes>
CAFFE2_INLINE void PrefetchBytes(const void* from) {
  constexpr int kCacheLine = 64;
  for (int i = 0; i < kBytes; i += kCacheLine) {
    __builtin_prefetch(static_cast<const char*>(from) + i);
  }
}

// Calls f.template Columns<size>(begin) for one block of up to kSize columns, at or before `begin`,
// and returns its end.
template <int kSize, class F>
CAFFE2_INLINE int64_t NextBlock(int64_t begin, int64_t width, const F& f) {
  constexpr int kSmaller = kSize > 4 ? kSize / 2 : 1;
  if constexpr (kSize > 1) {
    if (width < kSize || width - begin <= kSmaller) return NextBlock<kSmaller>(begin, width, f);
  }
  const int64_t first = std::min(begin, width - kSize);
  f.template Columns<kSize>(first);
  return first + kSize;
}

// Calls f.template Columns<size>(begin) for blocks that cover [0, width), of 1, 4 or a larger power
// of two columns up to kMaxSize. Blocks may overlap: two large ones are faster than many small
// ones.
template <int kMaxSize, class F>
CAFFE2_INLINE void ForEachBlock(int64_t width, const F& f) {
  for (int64_t begin = 0; begin < width;) begin = NextBlock<kMaxSize>(begin, width, f);
}

}  // namespace caffe2
