#pragma once

#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {

// What EQ and NE compare, and what LT, LE, GT and GE do.
using EqualityTypes =
    TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, bool, uint8_t>;
using OrderTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, uint8_t>;

}  // namespace caffe2
