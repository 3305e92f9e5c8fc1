// Transposes many small or large matrices of any elements, for example to move axes of images.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caffe2 {

// to[c][r] = from[r][c] for each of `batch` contiguous matrices, with elements of `element_bytes`
// bytes. The areas must not overlap.
void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                       const void* from, void* to);

}  // namespace caffe2
