// The kinds of reductions.
#pragma once

namespace caffe2 {

// Sum, mean, maximum, minimum, sum of absolute values, root of the sum of squares.
enum class Reduction { kSum, kMean, kMax, kMin, kL1, kL2 };

}  // namespace caffe2
