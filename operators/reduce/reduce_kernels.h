// Reductions over chosen dimensions on CUDA devices, always in the same order. Pointers are device
// memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/common/strides.h"
#include "operators/reduce/reduction_kind.h"

namespace caffe2 {

// y[e] = the reduction of the elements of x that differ from e in the `summed` dimensions only;
// operand 0 of both spaces is x. T: float, double, float16, bfloat16, int32, int64. A reduction of
// nothing is what the CPU operator gives.
template <typename T>
void LaunchReduce(Reduction reduction, const Strides& kept, const Strides& summed,
                  int64_t kept_count, int64_t summed_count, const T* x, T* y, cuda::Stream stream);

// dx[i] = the derivative by x[i] of the reduction y it went into; operand 1 of the space of x,
// which has n elements, is y. T: float, double, float16, bfloat16.
template <typename T>
void LaunchReduceGradient(Reduction reduction, const Strides& space, int64_t n, int64_t count,
                          const T* dy, const T* x, const T* y, T* dx, cuda::Stream stream);

// `results` x `count` elements: element k of result j lies at j * result_stride + k * stride; those
// from lengths[j] on do not count, if there are lengths.
struct SideLayout {
  int64_t results = 0, count = 0, result_stride = 1, stride = 1;
  const int32_t* lengths = nullptr;
};
// y[j] = the sum, mean or maximum of result j; the mean of nothing is 0. T as above.
template <typename T>
void LaunchReduceSide(Reduction reduction, const SideLayout& layout, const T* x, T* y,
                      cuda::Stream stream);
// dx = the derivative, 0 for what does not count. x and y are read for the maximum alone.
template <typename T>
void LaunchReduceSideGradient(Reduction reduction, const SideLayout& layout, const T* dy,
                              const T* x, const T* y, T* dx, cuda::Stream stream);

}  // namespace caffe2
