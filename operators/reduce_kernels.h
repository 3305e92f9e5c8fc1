// Reductions over chosen dimensions on CUDA devices, always in the same order. Pointers are device
// memory.
#pragma once

#include <cstdint>

#include "operators/elementwise_kernels.h"

namespace caffe2 {

enum class Reduction { kSum, kMean, kMax, kMin, kL1, kL2 };

// y[e] = the reduction of the elements of x that differ from e in the `summed` dimensions only;
// operand 0 of both spaces is x. T: float, double, int32, int64. A reduction of nothing is what the
// CPU operator gives.
template <typename T>
void LaunchReduce(Reduction reduction, const Strides& kept, const Strides& summed,
                  int64_t kept_count, int64_t summed_count, const T* x, T* y, cuda::Stream stream);

// dx[i] = the derivative by x[i] of the reduction y it went into; operand 1 of the space of x,
// which has n elements, is y. T: float, double.
template <typename T>
void LaunchReduceGradient(Reduction reduction, const Strides& space, int64_t n, int64_t count,
                          const T* dy, const T* x, const T* y, T* dx, cuda::Stream stream);

}  // namespace caffe2
