// Permuting the dimensions of dense arrays on CUDA devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// `batch` matrices of rows x columns elements -> their transposes, through shared memory, so that
// both sides are read and written in runs. Elements have 1, 2, 4 or 8 bytes; x and y must not
// overlap.
void LaunchTransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t itemsize,
                             const void* x, void* y, cuda::Stream stream);

// The dimensions of the result and what one step along each moves the source by, in elements.
struct Permutation {
  static constexpr int kMaxDims = 16;
  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t stride[kMaxDims] = {};
};
// y[i] = x[...] for all n elements of the result.
void LaunchPermute(const Permutation& permutation, int64_t n, size_t itemsize, const void* x,
                   void* y, cuda::Stream stream);
// The other way: y[...] = x[i] for all n elements of the source, which the dimensions are then of.
void LaunchPutPermuted(const Permutation& permutation, int64_t n, size_t itemsize, const void* x,
                       void* y, cuda::Stream stream);

}  // namespace caffe2
