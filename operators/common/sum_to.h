// Sums over broadcast dimensions, for gradients.
#pragma once

#include "operators/common/wide_rows.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {

// y[j] = the sum of the elements of x that the plan maps to j, for j < results. Results of 16-bit
// types are rounded once. reduce_cuda.h has the version for devices.
template <typename T>
void SumTo(const BroadcastPlan& plan, const T* x, int64_t results, T* y, CPUContext* /*context*/) {
  WideOutput<T> sums;
  Reduce<SumReducer>(plan, x, results, sums.Row(results, y));
  sums.Store();
}

}  // namespace caffe2
