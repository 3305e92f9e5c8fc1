// Rows picked from an array on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// In place of the number of a row: one of zeros, or of the fill value.
constexpr int64_t kZeroRow = -1, kFillRow = -2;

// Row i of y, `row_bytes` long, is row rows[i] of x. `fill` holds the 4- or 8-byte value that fills
// rows, repeated; rows of other elements have none.
void LaunchPickRows(int64_t n, const int64_t* rows, int64_t row_bytes, uint64_t fill, const void* x,
                    void* y, cuda::Stream stream);

}  // namespace caffe2
