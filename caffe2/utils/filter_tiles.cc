#include "caffe2/utils/filter_tiles.h"

#include <algorithm>
#include <type_traits>

#include "caffe2/utils/simd.h"
#include "caffe2/utils/tile_instructions.h"

namespace caffe2 {
namespace {

// One row of words without vector instructions of its own.
void PackTileWords(int64_t n, const float* const* rows, int64_t column, float* to) {
  std::copy_n(*rows + column, n, to);
}
void PackTileWords(int64_t n, const bfloat16* const* rows, int64_t column, BFloat16Pair* to) {
  for (int64_t i = 0; i < n; i += kPanel) {
    InterleaveRows(std::min(kPanel, n - i), rows[0] + column + i, rows[1] + column + i, to + i);
  }
}

// sums[j] += a * b[j] for one word of a and kTileSide words of b after another.
CAFFE2_SIMD_CLONES void AddTileProducts(int64_t words, const float* a, int64_t step, const float* b,
                                        float* sums) {
  for (int64_t r = 0; r < words; ++r, a += step, b += kTileSide) {
#pragma omp simd
    for (int64_t j = 0; j < kTileSide; ++j) sums[j] += *a * b[j];
  }
}
CAFFE2_SIMD_CLONES void AddTileProducts(int64_t words, const BFloat16Pair* a, int64_t step,
                                        const BFloat16Pair* b, float* sums) {
  for (int64_t r = 0; r < words; ++r, a += step, b += kTileSide) {
    const float even = EvenOf(*a), odd = OddOf(*a);
#pragma omp simd
    for (int64_t j = 0; j < kTileSide; ++j) sums[j] += even * EvenOf(b[j]) + odd * OddOf(b[j]);
  }
}

// Rows of sums to rows of c.
void StoreTileSums(int64_t rows, int64_t columns, const float* sums, bool accumulate, int64_t step,
                   float* c) {
  for (int64_t i = 0; i < rows; ++i, sums += kTileSide, c += step) {
    for (int64_t j = 0; j < columns; ++j) c[j] = accumulate ? c[j] + sums[j] : sums[j];
  }
}

template <typename T>
void MultiplyTilesPlainly(const TileProduct<T>& p) {
  for (int64_t i = 0; i < p.a_columns; ++i) {
    float sums[kTileSide] = {};
    AddTileProducts(p.words, p.a + i, p.a_step, p.b, sums);
    StoreTileSums(1, p.b_columns, sums, p.accumulate, p.c_step, p.c + i * p.c_step);
  }
}

#if defined(CAFFE2_PAIR_INSTRUCTION)
// A bit for each of `count` lanes; of up to 32.
CAFFE2_INLINE uint32_t TileMask(int64_t count) {
  return static_cast<uint32_t>((uint64_t{1} << std::clamp<int64_t>(count, 0, 32)) - 1);
}

// Vectors of words, made of rows from `column` on. With kMasked only `columns` columns are read,
// and the others are 0.
template <int kVectors, bool kMasked>
CAFFE2_TILE_INLINE void LoadTileWords(const float* const* rows, int64_t column, int64_t columns,
                                      __m512* words) {
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const float* from = *rows + column + j * kTileLanes;
    words[j] = kMasked ? _mm512_maskz_loadu_ps(TileMask(columns - j * kTileLanes), from)
                       : _mm512_loadu_ps(from);
  }
}
template <int kVectors, bool kMasked>
CAFFE2_TILE_INLINE void LoadTileWords(const bfloat16* const* rows, int64_t column, int64_t columns,
                                      __m512* words) {
  // Word i of the first result is made of elements i of both rows, the second of which has the
  // numbers from 32 on.
  const __m512i numbers = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i low = numbers + (numbers << 16) + _mm512_set1_epi32(32 << 16);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(kTileLanes));
#pragma GCC unroll 2
  for (int j = 0; j < kVectors; j += 2) {
    const bfloat16 *even = rows[0] + column + j * kTileLanes,
                   *odd = rows[1] + column + j * kTileLanes;
    const __mmask32 mask = kMasked ? TileMask(columns - j * kTileLanes) : ~__mmask32{0};
    const __m512i a = _mm512_maskz_loadu_epi16(mask, even), b = _mm512_maskz_loadu_epi16(mask, odd);
    words[j] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(a, low, b));
    words[j + 1] = _mm512_castsi512_ps(_mm512_permutex2var_epi16(a, high, b));
  }
}

// kRows rows of c, for columns of a from `a` on. All sums stay in registers. While they are
// computed, the old c is brought into the cache, a row at a time: asking for all lines at once
// delays the first sums. With kFill the panel b is made on the way.
template <int kRows, int kVectors, bool kFill, typename T>
CAFFE2_TILE_TARGET void MultiplyFilterTile(const TileProduct<T>& p, const TileWord<T>* a,
                                           bool accumulate, float* c, int64_t c_step,
                                           TileRows<T> ahead) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sums[i][j] = _mm512_setzero_ps();
    }
  }
  const int64_t old_rows = accumulate ? kRows : 0;
  auto* b = reinterpret_cast<float*>(p.b);
  const T* const* unpacked = p.unpacked.rows;
  for (int64_t r = 0; r < p.words; ++r, a += p.a_step, b += kTileSide) {
    if (r < old_rows) {
      const float* old = c + r * c_step;
      for (int j = 0; j < kVectors; ++j) __builtin_prefetch(old + j * kTileLanes, 1);
    }
    if (ahead.rows) {
      __builtin_prefetch(*ahead.rows + ahead.column, 0, 2);
      ahead.rows += kRowsOfWord<T>;
    }
    __m512 words[kVectors];
    if constexpr (kFill) {
      LoadTileWords<kVectors, false>(unpacked, p.unpacked.column, 0, words);
      unpacked += kRowsOfWord<T>;
    }
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      if constexpr (kFill) {
        _mm512_storeu_ps(b + j * kTileLanes, words[j]);
      } else {
        words[j] = _mm512_loadu_ps(b + j * kTileLanes);
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = AddTileProduct(a[i], words[j], sums[i][j]);
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      float* to = c + i * c_step + j * kTileLanes;
      if (accumulate) sums[i][j] = _mm512_add_ps(_mm512_loadu_ps(to), sums[i][j]);
      _mm512_storeu_ps(to, sums[i][j]);
    }
  }
}

template <bool kMasked, typename T>
CAFFE2_TILE_TARGET void PackPanelOfVectors(int64_t words, int64_t columns, TileRows<T> from,
                                           TileWord<T>* to) {
  constexpr int kVectors = kTileSide / kTileLanes;
  for (int64_t r = 0; r < words; ++r, from.rows += kRowsOfWord<T>, to += kTileSide) {
    __m512 row[kVectors];
    LoadTileWords<kVectors, kMasked>(from.rows, from.column, columns, row);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) _mm512_storeu_ps(to + j * kTileLanes, row[j]);
  }
}

// The tile of columns of a from `first` on.
template <int kRows, int kVectors, bool kFill, typename T>
void MultiplyRowsOfTile(const TileProduct<T>& p, int64_t first, RowsAhead<T>* ahead) {
  float* c = p.c + first * p.c_step;
  const TileRows<T> line = ahead ? ahead->Next() : TileRows<T>{};
  if (p.b_columns == kVectors * kTileLanes) {
    return MultiplyFilterTile<kRows, kVectors, kFill>(p, p.a + first, p.accumulate, c, p.c_step,
                                                      line);
  }
  alignas(64) float sums[kRows * kTileSide];
  MultiplyFilterTile<kRows, kVectors, kFill>(p, p.a + first, false, sums, kTileSide, line);
  StoreTileSums(kRows, p.b_columns, sums, p.accumulate, p.c_step, c);
}

// With a panel of up to kVectors vectors. The first tile makes it, if all of them are full.
template <int kVectors, typename T>
void MultiplyTilesByVectors(const TileProduct<T>& p, RowsAhead<T>* ahead) {
  constexpr int kSix = 6, kFour = 4, kTwo = 2;
  int64_t i = 0;
  if (p.unpacked.rows && p.b_columns == kVectors * kTileLanes && p.a_columns >= kSix) {
    MultiplyRowsOfTile<kSix, kVectors, true>(p, 0, ahead);
    i = kSix;
  } else if (p.unpacked.rows) {
    PackTilePanel<T>(p.words, p.b_columns, p.unpacked, p.b);
  }
  for (; i + kSix <= p.a_columns; i += kSix) {
    MultiplyRowsOfTile<kSix, kVectors, false>(p, i, ahead);
  }
  if (i + kFour <= p.a_columns) {
    MultiplyRowsOfTile<kFour, kVectors, false>(p, i, ahead);
    i += kFour;
  }
  if (i + kTwo <= p.a_columns) {
    MultiplyRowsOfTile<kTwo, kVectors, false>(p, i, ahead);
    i += kTwo;
  }
  if (i < p.a_columns) MultiplyRowsOfTile<1, kVectors, false>(p, i, ahead);
}
#endif

}  // namespace

template <typename T>
void PackTilePanel(int64_t words, int64_t columns, const TileRows<T>& from, TileWord<T>* to) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (HasTileInstructions<T>()) {
    return columns == kTileSide ? PackPanelOfVectors<false, T>(words, columns, from, to)
                                : PackPanelOfVectors<true, T>(words, columns, from, to);
  }
#endif
  for (int64_t r = 0; r < words; ++r, to += kTileSide) {
    PackTileWords(columns, from.rows + r * kRowsOfWord<T>, from.column, to);
    std::fill(to + columns, to + kTileSide, TileWord<T>{});
  }
}

template <typename T>
void MultiplyTiles(const TileProduct<T>& p, RowsAhead<T>* ahead) {
#if defined(CAFFE2_PAIR_INSTRUCTION)
  if (HasTileInstructions<T>()) {
    return p.b_columns > kTileSide / 2
               ? MultiplyTilesByVectors<kTileSide / kTileLanes>(p, ahead)
               : MultiplyTilesByVectors<kTileSide / 2 / kTileLanes>(p, ahead);
  }
#endif
  if (p.unpacked.rows) PackTilePanel<T>(p.words, p.b_columns, p.unpacked, p.b);
  MultiplyTilesPlainly(p);
}

template void PackTilePanel<float>(int64_t, int64_t, const TileRows<float>&, float*);
template void PackTilePanel<bfloat16>(int64_t, int64_t, const TileRows<bfloat16>&, BFloat16Pair*);
template void MultiplyTiles<float>(const TileProduct<float>&, RowsAhead<float>*);
template void MultiplyTiles<bfloat16>(const TileProduct<bfloat16>&, RowsAhead<bfloat16>*);

}  // namespace caffe2
