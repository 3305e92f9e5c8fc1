// TopK and LengthsTopK on CUDA devices. Pointers are device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/runtime.h"
#include "operators/reduce/selection_functions.h"

namespace caffe2 {

// The k largest elements of each of `lines` lines. Equal elements keep their order, and NaN is
// above all numbers. Results after the end of a line are 0 with index -1. `flat` (positions in x)
// may be null. If `keys` is null, a block passes over each line k times; otherwise lines are
// sorted, with room for TopKKeys keys. TopKKeys returns 0 if passes are faster: for small k and
// 64-bit types. T is float, double, float16, bfloat16, int32 or int64.
int64_t TopKKeys(int64_t lines, int64_t n, int64_t k, size_t itemsize);
template <typename T>
void LaunchTopK(int64_t lines, const LineLayout& layout, int64_t k, const T* x, T* values,
                int64_t* indices, int64_t* flat, uint64_t* keys, cuda::Stream stream);

// The k largest elements of each segment, [offsets[s], offsets[s + 1]) of x, in the same order;
// results after its end are 0 with index -1. A block passes over a segment k times. `width` is the
// mean number of elements of a segment and decides how many threads a segment gets.
void LaunchTopKOfSegments(int64_t segments, int64_t width, const int64_t* offsets, int64_t k,
                          const float* x, float* values, int32_t* indices, cuda::Stream stream);

// Calls put(at) for all n elements of the gradient. An index that is neither -1 nor in range is
// reported.
template <typename T>
void LaunchScatterTopK(int64_t n, const ScatterTopK<T>& put, cuda::KernelReport* report,
                       cuda::Stream stream);

}  // namespace caffe2
