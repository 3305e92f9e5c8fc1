// Transposes many small or large matrices of any elements, for example to move axes of images.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caffe2 {

// to[c][r] = from[r][c] for each of `batch` contiguous matrices, with elements of `element_bytes`
// bytes. The areas must not overlap.
void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                       const void* from, void* to);

// to[c * to_stride + r] = from[r * from_stride + c], with strides in elements, in one thread.
// Defined for uint8_t, uint16_t, uint32_t and uint64_t. The areas must not overlap.
template <typename T>
void TransposeTile(int64_t rows, int64_t columns, const T* from, int64_t from_stride, T* to,
                   int64_t to_stride);

}  // namespace caffe2
