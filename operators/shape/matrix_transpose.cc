#include "operators/shape/matrix_transpose.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"

namespace caffe2 {
namespace {

constexpr int64_t kBlock = 16;            // columns of a short run, of the smallest part too
constexpr int64_t kGrainBytes = 1 << 16;  // per thread

// Squares of elements that are transposed in registers, `lanes` of them below each other: each
// fills 16 bytes of every register.
template <typename T, int lanes>
struct RegisterSquares {
  static constexpr int kSide = 16 / sizeof(T);
  static constexpr int kRows = kSide * lanes;
  typedef T Vector __attribute__((vector_size(16 * lanes)));

  // Which element of the pair (a, b), counted through both, becomes element i: in each lane, the
  // elements of one half of a and of the same half of b alternate.
  static constexpr int Source(int i, bool high) {
    const int lane = i / kSide, at = i % kSide;
    return lane * kSide + at / 2 + (high ? kSide / 2 : 0) + at % 2 * kRows;
  }
  template <bool high, int... i>
  static CAFFE2_INLINE void Interleave(const Vector& a, const Vector& b, Vector* to,
                                       std::integer_sequence<int, i...>) {
#if defined(__clang__) || __GNUC__ >= 12
    *to = __builtin_shufflevector(a, b, Source(i, high)...);
#else
    *to = __builtin_shuffle(a, b, Vector{static_cast<T>(Source(i, high))...});
#endif
  }

  // to[c * to_stride + r] = from[r * from_stride + c] for kRows rows and kSide columns: after
  // log2(kSide) interleavings of both halves of the registers, they hold the columns.
  static CAFFE2_INLINE void Transpose(const T* from, int64_t from_stride, T* to,
                                      int64_t to_stride) {
    constexpr auto kAll = std::make_integer_sequence<int, kRows>();
    Vector now[kSide], next[kSide];
    for (int k = 0; k < kSide; ++k) {
      for (int lane = 0; lane < lanes; ++lane) {
        std::memcpy(reinterpret_cast<char*>(&now[k]) + 16 * lane,
                    from + (lane * kSide + k) * from_stride, 16);
      }
    }
#pragma GCC unroll 4
    for (int done = 1; done < kSide; done *= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < kSide / 2; ++k) {
        Interleave<false>(now[k], now[k + kSide / 2], &next[2 * k], kAll);
        Interleave<true>(now[k], now[k + kSide / 2], &next[2 * k + 1], kAll);
      }
#pragma GCC unroll 16
      for (int k = 0; k < kSide; ++k) now[k] = next[k];
    }
#pragma GCC unroll 16
    for (int k = 0; k < kSide; ++k) std::memcpy(to + k * to_stride, &now[k], sizeof(Vector));
  }

  // Columns [begin, end), whole squares, from row `row` on. Returns the first row that is left.
  static CAFFE2_INLINE int64_t TransposeRows(int64_t row, int64_t rows, int64_t begin, int64_t end,
                                             const T* from, int64_t from_stride, T* to,
                                             int64_t to_stride) {
    for (; row + kRows <= rows; row += kRows) {
      for (int64_t c = begin; c < end; c += kSide) {
        Transpose(from + row * from_stride + c, from_stride, to + c * to_stride + row, to_stride);
      }
    }
    return row;
  }
};

// to[3 * c + r] = from[r * from_stride + c] for three rows: the colours of images.
template <typename T>
CAFFE2_SIMD_CLONES void InterleaveThree(int64_t columns, const T* from, int64_t from_stride,
                                        T* to) {
  const T *second = from + from_stride, *third = second + from_stride;
#pragma GCC ivdep
  for (int64_t c = 0; c < columns; ++c) {
    to[3 * c] = from[c];
    to[3 * c + 1] = second[c];
    to[3 * c + 2] = third[c];
  }
}

template <typename T>
CAFFE2_SIMD_CLONES void TransposeSquares(int64_t rows, int64_t columns, const T* from,
                                         int64_t from_stride, T* to, int64_t to_stride) {
  using Square = RegisterSquares<T, 1>;
  constexpr int64_t kColumns = 128;  // their results stay in the first cache
  const int64_t whole = columns - columns % Square::kSide;
  for (int64_t begin = 0; begin < whole; begin += kColumns) {
    const int64_t end = std::min(begin + kColumns, whole);
    // Four squares fill a cache line of results.
    const int64_t row =
        RegisterSquares<T, 4>::TransposeRows(0, rows, begin, end, from, from_stride, to, to_stride);
    Square::TransposeRows(row, rows, begin, end, from, from_stride, to, to_stride);
  }
  // The rest: rows in short runs, whose results share cache lines, then columns.
  const int64_t rest = rows - rows % Square::kSide;
  for (int64_t begin = 0; rest < rows && begin < whole; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, whole);
    for (int64_t r = rest; r < rows; ++r) {
      for (int64_t c = begin; c < end; ++c) to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
  for (int64_t c = whole; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

template <typename T>
void TransposeColumns(int64_t rows, int64_t columns, int64_t begin, int64_t end, const void* from,
                      void* to) {
  TransposeTile(rows, end - begin, static_cast<const T*>(from) + begin, columns,
                static_cast<T*>(to) + begin * rows, rows);
}

// Elements of any other size.
void CopyColumns(int64_t bytes, int64_t rows, int64_t columns, int64_t begin, int64_t end,
                 const char* from, char* to) {
  for (int64_t c = begin; c < end; c += kBlock) {
    const int64_t stop = std::min(c + kBlock, end);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = c; k < stop; ++k) {
        std::memcpy(to + (k * rows + r) * bytes, from + (r * columns + k) * bytes, bytes);
      }
    }
  }
}

void TransposeColumnsOf(size_t bytes, int64_t rows, int64_t columns, int64_t begin, int64_t end,
                        const char* from, char* to) {
  switch (bytes) {
    case 1:
      return TransposeColumns<uint8_t>(rows, columns, begin, end, from, to);
    case 2:
      return TransposeColumns<uint16_t>(rows, columns, begin, end, from, to);
    case 4:
      return TransposeColumns<uint32_t>(rows, columns, begin, end, from, to);
    case 8:
      return TransposeColumns<uint64_t>(rows, columns, begin, end, from, to);
    default:
      CopyColumns(static_cast<int64_t>(bytes), rows, columns, begin, end, from, to);
  }
}

}  // namespace

template <typename T>
void TransposeTile(int64_t rows, int64_t columns, const T* from, int64_t from_stride, T* to,
                   int64_t to_stride) {
  if (rows == 3 && to_stride == 3) return InterleaveThree(columns, from, from_stride, to);
  TransposeSquares(rows, columns, from, from_stride, to, to_stride);
}
template void TransposeTile(int64_t, int64_t, const uint8_t*, int64_t, uint8_t*, int64_t);
template void TransposeTile(int64_t, int64_t, const uint16_t*, int64_t, uint16_t*, int64_t);
template void TransposeTile(int64_t, int64_t, const uint32_t*, int64_t, uint32_t*, int64_t);
template void TransposeTile(int64_t, int64_t, const uint64_t*, int64_t, uint64_t*, int64_t);

void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                       const void* from, void* to) {
  const int64_t row_bytes = rows * static_cast<int64_t>(element_bytes);
  if (batch == 0 || columns == 0 || row_bytes == 0) return;
  ParallelFor(batch * columns, std::max<int64_t>(kBlock, kGrainBytes / row_bytes),
              [=](int64_t begin, int64_t end) {
                // [begin, end) counts the columns of all matrices.
                while (begin < end) {
                  const int64_t matrix = begin / columns, first = begin % columns;
                  const int64_t stop = std::min(columns, first + end - begin);
                  const int64_t offset = matrix * columns * row_bytes;
                  TransposeColumnsOf(element_bytes, rows, columns, first, stop,
                                     static_cast<const char*>(from) + offset,
                                     static_cast<char*>(to) + offset);
                  begin += stop - first;
                }
              });
}

}  // namespace caffe2
