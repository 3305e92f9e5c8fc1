// Lists of element types for operators that choose one by an input (TensorTypes), and the
// conversions of 16-bit ones (narrow_float.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "caffe2/core/operator.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {

using FloatTypes = TensorTypes<float, double, float16, bfloat16>;
using NumericTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16>;
using IntegerTypes = TensorTypes<int32_t, int64_t>;
using IndexTypes = TensorTypes<int32_t, int64_t>;
using BoolTypes = TensorTypes<bool>;

// Loops over fewer elements stay in one thread: waking threads would cost more than the work.
constexpr int64_t kElementwiseGrain = 32768;

// The grain of a loop over rows of `width` elements: as many rows as have `elements` elements, or
// one if a row has more.
constexpr int64_t RowGrain(int64_t width, int64_t elements = kElementwiseGrain) {
  return std::max<int64_t>(1, elements / std::max<int64_t>(1, width));
}

}  // namespace caffe2
