// Reductions over chosen dimensions on CUDA devices, in a fixed order. Pointers are device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/common/strides.h"
#include "operators/reduce/reduction_kind.h"

namespace caffe2 {

// y[e] = the reduction of the elements of x that differ from e in the `summed` dimensions only;
// operand 0 of both spaces is x. T is float, double, float16, bfloat16, int32 or int64. A reduction
// of no elements gives the same result as on the CPU.
template <typename T>
void LaunchReduce(Reduction reduction, const Strides& kept, const Strides& summed,
                  int64_t kept_count, int64_t summed_count, const T* x, T* y, cuda::Stream stream);

// dx[i] = dy times the derivative, by x[i], of the reduction y that contains x[i]. Operand 1 of the
// space of x, which has n elements, is y. T is float, double, float16 or bfloat16.
template <typename T>
void LaunchReduceGradient(Reduction reduction, const Strides& space, int64_t n, int64_t count,
                          const T* dy, const T* x, const T* y, T* dx, cuda::Stream stream);

// `results` x `count` elements: element k of result j is at j * result_stride + k * stride.
// Elements from lengths[j] on do not count, unless lengths is null.
struct SideLayout {
  int64_t results = 0, count = 0, result_stride = 1, stride = 1;
  const int32_t* lengths = nullptr;
};
// y[j] = the sum, mean or maximum of the elements of result j; the mean of no elements is 0. T as
// above.
template <typename T>
void LaunchReduceSide(Reduction reduction, const SideLayout& layout, const T* x, T* y,
                      cuda::Stream stream);
// dx = the gradient, 0 for elements that do not count. x and y are read for the maximum only.
template <typename T>
void LaunchReduceSideGradient(Reduction reduction, const SideLayout& layout, const T* dy,
                              const T* x, const T* y, T* dx, cuda::Stream stream);

}  // namespace caffe2
