#include "operators/shape/matrix_transpose.h"

#include <algorithm>
#include <cstring>

#include "caffe2/utils/parallel.h"

namespace caffe2 {
namespace {

constexpr int64_t kBlock = 16;            // columns read together: a cache line of floats
constexpr int64_t kGrainBytes = 1 << 16;  // per thread

// Calls move(source index, destination index) for columns [begin, end) of one matrix.
template <typename Move>
void ForEachElement(int64_t rows, int64_t columns, int64_t begin, int64_t end, const Move& move) {
  for (int64_t c = begin; c < end; c += kBlock) {
    const int64_t stop = std::min(c + kBlock, end);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = c; k < stop; ++k) move(r * columns + k, k * rows + r);
    }
  }
}

template <typename T>
void TransposeColumns(int64_t rows, int64_t columns, int64_t begin, int64_t end, const void* from,
                      void* to) {
  const T* source = static_cast<const T*>(from);
  T* destination = static_cast<T*>(to);
  ForEachElement(rows, columns, begin, end,
                 [=](int64_t i, int64_t o) { destination[o] = source[i]; });
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
      ForEachElement(rows, columns, begin, end, [=](int64_t i, int64_t o) {
        std::memcpy(to + o * bytes, from + i * bytes, bytes);
      });
  }
}

}  // namespace

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
