#include "caffe2/utils/row_tiles.h"

#include "caffe2/core/logging.h"
#include "caffe2/utils/tile_instructions.h"

namespace caffe2 {

#if defined(CAFFE2_PAIR_INSTRUCTION)

namespace {

constexpr int kVectors = kTileSide / kTileLanes;

// What a tile does with vectors of T.
template <typename T>
struct TileLanes;

template <>
struct TileLanes<float> {
  CAFFE2_TILE_TARGET static __m512 Load(const float* from) { return _mm512_loadu_ps(from); }
  CAFFE2_TILE_TARGET static void StoreTwo(__m512 first, __m512 second, float* to) {
    _mm512_storeu_ps(to, first);
    _mm512_storeu_ps(to + kTileLanes, second);
  }
};

template <>
struct TileLanes<bfloat16> {
  CAFFE2_TILE_TARGET static __m512 Load(const bfloat16* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return reinterpret_cast<__m512>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  CAFFE2_TILE_TARGET static void StoreTwo(__m512 first, __m512 second, bfloat16* to) {
    _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
  }
};

// Brings results into the cache while their sums are computed.
template <typename T>
CAFFE2_INLINE void PrefetchResults(const T* c) {
  constexpr int kLine = 64 / sizeof(T);
  for (int j = 0; j < kTileSide; j += kLine) __builtin_prefetch(c + j, 1);
}

// Adds the product of a row of the panel and word k of each row.
template <typename T, int kRows>
CAFFE2_TILE_INLINE void AddStep(const TileWord<T>* const* a, int64_t k, const TileWord<T>* b,
                                __m512 (*sums)[kVectors]) {
  __m512 columns[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_ps(b + v * kTileLanes);
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = AddTileProduct(a[i][k], columns[v], sums[i][v]);
    }
  }
}

// The results of a row from its sums, which hold the bias.
template <typename T>
CAFFE2_TILE_INLINE void Finish(const RowEpilogue& epilogue, const T* c, __m512* sums) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int at = v * kTileLanes;
    if (epilogue.add) sums[v] = _mm512_add_ps(sums[v], TileLanes<T>::Load(c + at));
    if (epilogue.relu) sums[v] = _mm512_max_ps(_mm512_setzero_ps(), sums[v]);  // NaN stays NaN
  }
}

// `kPlain`: sums, which begin with the bias, are only stored.
template <typename T, int kRows, bool kPlain>
CAFFE2_TILE_TARGET void MultiplyRows(int64_t steps, const T* const* rows, const TileWord<T>* b,
                                     const RowEpilogue& epilogue, T* const* c) {
  using Lanes = TileLanes<T>;
  constexpr int kUnroll = 4;  // so that the end of short sums is foreseen
  __m512 sums[kRows][kVectors];
  const TileWord<T>* a[kRows];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 bias =
        epilogue.bias ? _mm512_loadu_ps(epilogue.bias + v * kTileLanes) : _mm512_setzero_ps();
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) sums[i][v] = bias;
  }
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
    a[i] = reinterpret_cast<const TileWord<T>*>(rows[i]);
    PrefetchResults(c[i]);
  }
  int64_t k = 0;
  for (; k + kUnroll <= steps; k += kUnroll, b += kUnroll * kTileSide) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) AddStep<T, kRows>(a, k + u, b + u * kTileSide, sums);
  }
  for (; k < steps; ++k, b += kTileSide) AddStep<T, kRows>(a, k, b, sums);
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
    if constexpr (!kPlain) Finish<T>(epilogue, c[i], sums[i]);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; v += 2) {
      Lanes::StoreTwo(sums[i][v], sums[i][v + 1], c[i] + v * kTileLanes);
    }
  }
}

// The lanes rounded to bfloat16, in the lower halves.
CAFFE2_TILE_TARGET __m512i Rounded(__m512 values) {
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values)));
}

constexpr int kSquare = 8;  // rows and columns that are transposed at a time

// Columns 0, 2, 4, 6 or 1, 3, 5, 7 of a square of 64-bit elements, whose rows are in pairs.
CAFFE2_TILE_TARGET void GatherColumns(__m512i rows01, __m512i rows23, __m512i rows45,
                                      __m512i rows67, __m512i* columns) {
  constexpr int kFirst = 0x44, kLast = 0xee, kEven = 0x88, kOdd = 0xdd;  // lanes of 128 bits
  const __m512i upper_first = _mm512_shuffle_i64x2(rows01, rows23, kFirst);
  const __m512i upper_last = _mm512_shuffle_i64x2(rows01, rows23, kLast);
  const __m512i lower_first = _mm512_shuffle_i64x2(rows45, rows67, kFirst);
  const __m512i lower_last = _mm512_shuffle_i64x2(rows45, rows67, kLast);
  columns[0] = _mm512_shuffle_i64x2(upper_first, lower_first, kEven);
  columns[2] = _mm512_shuffle_i64x2(upper_first, lower_first, kOdd);
  columns[4] = _mm512_shuffle_i64x2(upper_last, lower_last, kEven);
  columns[6] = _mm512_shuffle_i64x2(upper_last, lower_last, kOdd);
}

CAFFE2_TILE_TARGET void TransposeSquare(const __m512i* r, __m512i* columns) {
  GatherColumns(_mm512_unpacklo_epi64(r[0], r[1]), _mm512_unpacklo_epi64(r[2], r[3]),
                _mm512_unpacklo_epi64(r[4], r[5]), _mm512_unpacklo_epi64(r[6], r[7]), columns);
  GatherColumns(_mm512_unpackhi_epi64(r[0], r[1]), _mm512_unpackhi_epi64(r[2], r[3]),
                _mm512_unpackhi_epi64(r[4], r[5]), _mm512_unpackhi_epi64(r[6], r[7]), columns + 1);
}

// Elements k and, with `two`, k + 1 of kSquare columns of a panel.
CAFFE2_TILE_TARGET void StoreElements(__m512i elements, bool two, float* to) {
  const __m256i first = _mm512_cvtepi64_epi32(elements);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
  if (!two) return;
  const __m256i second = _mm512_cvtepi64_epi32(_mm512_srli_epi64(elements, 32));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kTileSide), second);
}
CAFFE2_TILE_TARGET void StoreElements(__m512i elements, bool, BFloat16Pair* to) {
  const auto pairs = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(elements));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(pairs));
}

template <typename T>
CAFFE2_TILE_TARGET void PackTransposed(int64_t depth, int64_t step, const float* matrix,
                                       TileWord<T>* to) {
  for (int64_t j = 0; j < kTileSide; j += kSquare) {
    for (int64_t k = 0; k < depth; k += kTileLanes) {
      const int64_t count = depth - k < kTileLanes ? depth - k : kTileLanes;
      const auto mask = static_cast<__mmask16>((1u << count) - 1);
      __m512i rows[kSquare], columns[kSquare];
#pragma GCC unroll 8
      for (int i = 0; i < kSquare; ++i) {
        const __m512 row = _mm512_maskz_loadu_ps(mask, matrix + (j + i) * step + k);
        rows[i] = reinterpret_cast<__m512i>(row);
      }
      TransposeSquare(rows, columns);
      for (int64_t i = 0; i < count; i += 2) {
        StoreElements(columns[i / 2], i + 1 < count, to + (k + i) / kRowsOfWord<T> * kTileSide + j);
      }
    }
  }
}

CAFFE2_TILE_TARGET void Pack(int64_t depth, int64_t step, const float* matrix, float* to) {
  for (int64_t k = 0; k < depth; ++k, matrix += step, to += kTileSide) {
    for (int64_t j = 0; j < kTileSide; j += kTileLanes) {
      _mm512_storeu_ps(to + j, _mm512_loadu_ps(matrix + j));
    }
  }
}
CAFFE2_TILE_TARGET void Pack(int64_t depth, int64_t step, const float* matrix, BFloat16Pair* to) {
  for (int64_t k = 0; k < depth; k += 2, matrix += 2 * step, to += kTileSide) {
    for (int64_t j = 0; j < kTileSide; j += kTileLanes) {
      const __m512i even = Rounded(_mm512_loadu_ps(matrix + j));
      const __m512i odd = Rounded(_mm512_loadu_ps(matrix + step + j));
      _mm512_storeu_si512(to + j, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
    }
  }
}

}  // namespace

template <typename T>
void MultiplyTile(int rows, int64_t depth, const T* const* a, const TileWord<T>* b,
                  const RowEpilogue& epilogue, T* const* c) {
  using Multiply =
      void(int64_t, const T* const*, const TileWord<T>*, const RowEpilogue&, T* const*);
  static constexpr Multiply* kMultiply[2][kTileRows] = {
      {MultiplyRows<T, 1, false>, MultiplyRows<T, 2, false>, MultiplyRows<T, 3, false>,
       MultiplyRows<T, 4, false>, MultiplyRows<T, 5, false>, MultiplyRows<T, 6, false>},
      {MultiplyRows<T, 1, true>, MultiplyRows<T, 2, true>, MultiplyRows<T, 3, true>,
       MultiplyRows<T, 4, true>, MultiplyRows<T, 5, true>, MultiplyRows<T, 6, true>}};
  const bool plain = !epilogue.add && !epilogue.relu;
  kMultiply[plain][rows - 1](depth / kRowsOfWord<T>, a, b, epilogue, c);
}

template <typename T>
void PackPanel(int64_t depth, int64_t step, const float* matrix, TileWord<T>* to) {
  Pack(depth, step, matrix, to);
}

template <typename T>
void PackTransposedPanel(int64_t depth, int64_t step, const float* matrix, TileWord<T>* to) {
  PackTransposed<T>(depth, step, matrix, to);
}

#else

template <typename T>
void MultiplyTile(int, int64_t, const T* const*, const TileWord<T>*, const RowEpilogue&,
                  T* const*) {
  CAFFE_THROW("this processor has no AVX-512");
}
template <typename T>
void PackPanel(int64_t, int64_t, const float*, TileWord<T>*) {
  CAFFE_THROW("this processor has no AVX-512");
}
template <typename T>
void PackTransposedPanel(int64_t, int64_t, const float*, TileWord<T>*) {
  CAFFE_THROW("this processor has no AVX-512");
}

#endif

template void MultiplyTile<float>(int, int64_t, const float* const*, const float*,
                                  const RowEpilogue&, float* const*);
template void MultiplyTile<bfloat16>(int, int64_t, const bfloat16* const*, const BFloat16Pair*,
                                     const RowEpilogue&, bfloat16* const*);
template void PackPanel<float>(int64_t, int64_t, const float*, float*);
template void PackPanel<bfloat16>(int64_t, int64_t, const float*, BFloat16Pair*);
template void PackTransposedPanel<float>(int64_t, int64_t, const float*, float*);
template void PackTransposedPanel<bfloat16>(int64_t, int64_t, const float*, BFloat16Pair*);

}  // namespace caffe2
