// The norm of many arrays, and their scaling, on CUDA devices. Pointers are device memory.
#pragma once

#include "caffe2/cuda/stream.h"
#include "operators/common/array_list.h"

namespace caffe2 {

// Each array has this number of partial sums.
constexpr int64_t kSquaresParts = 32;

// Writes the sums of squares of the parts of each array: kSquaresParts x arrays.count numbers.
void LaunchPartialSquares(const ArrayList<float>& arrays, double* sums, cuda::Stream stream);
// *norm = the square root of the sum of n sums, added in a fixed order.
void LaunchNorm(int64_t n, const double* sums, float* norm, cuda::Stream stream);
// If *norm is finite and exceeds max_norm, multiplies all elements by max_norm / *norm.
void LaunchClip(const ArrayList<float>& arrays, float max_norm, const float* norm,
                cuda::Stream stream);

}  // namespace caffe2
