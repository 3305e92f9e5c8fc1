// Permutes the dimensions of dense arrays on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// Transposes `batch` matrices of rows x columns elements through shared memory, so that reads and
// writes are contiguous. Elements have 1, 2, 4 or 8 bytes; x and y must not overlap.
void LaunchTransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t itemsize,
                             const void* x, void* y, cuda::Stream stream);

// The dimensions of the result, and the stride of the source along each, in elements.
struct Permutation {
  static constexpr int kMaxDims = 16;
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[kMaxDims] = {};
};
// y[i] = x[the source index of i], for all n elements i of the result.
void LaunchPermute(const Permutation& permutation, int64_t n, size_t itemsize, const void* x,
                   void* y, cuda::Stream stream);
// The inverse: y[the source index of i] = x[i], for all n elements i of x, which has the dimensions
// of the Permutation.
void LaunchPutPermuted(const Permutation& permutation, int64_t n, size_t itemsize, const void* x,
                       void* y, cuda::Stream stream);

}  // namespace caffe2
