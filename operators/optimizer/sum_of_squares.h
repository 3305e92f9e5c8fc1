// The sum of the squares of an array on the host.
#pragma once

#include <cstdint>

namespace caffe2 {

// The sum in double precision. Its bits depend neither on the number of threads nor on the
// machine's instruction set.
double SumOfSquares(int64_t n, const float* x);

}  // namespace caffe2
