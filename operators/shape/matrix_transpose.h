// Transposition of many small or large matrices of any elements: what moves axes of images.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caffe2 {

// For each of `batch` matrices that lie one after another: to[c][r] = from[r][c], elements of
// `element_bytes` bytes. The areas must not overlap.
void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                       const void* from, void* to);

}  // namespace caffe2
