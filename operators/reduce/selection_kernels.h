// TopK and LengthsTopK on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/runtime.h"
#include "operators/reduce/selection_functions.h"

namespace caffe2 {

// The k largest elements of each of `lines` lines, the first of equal ones first, NaN above all;
// what is past the end of a line is 0 with index -1. `flat` (positions in x) may be null. A block
// takes a line and passes over it k times; or, where `keys` are given, lines are sorted. They are
// TopKKeys of them, 0 where passing is the better: for small k, and for types of 64 bits. T: float,
// double, float16, bfloat16, int32, int64.
int64_t TopKKeys(int64_t lines, int64_t n, int64_t k, size_t itemsize);
template <typename T>
void LaunchTopK(int64_t lines, const LineLayout& layout, int64_t k, const T* x, T* values,
                int64_t* indices, int64_t* flat, uint64_t* keys, cuda::Stream stream);

// The k largest elements of each segment, [offsets[s], offsets[s + 1]) of x, in the same order;
// past its end 0 with index -1. A block takes a segment and passes over it k times. `width`, the
// elements of a segment on average, steers how threads are used.
void LaunchTopKOfSegments(int64_t segments, int64_t width, const int64_t* offsets, int64_t k,
                          const float* x, float* values, int32_t* indices, cuda::Stream stream);

// put(at) for all n elements of the gradient; an index that is neither -1 nor in range is reported.
template <typename T>
void LaunchPutTopK(int64_t n, const PutTopK<T>& put, cuda::KernelReport* report,
                   cuda::Stream stream);

}  // namespace caffe2
