// The type in which arithmetic on an element type is done.
#pragma once

#include <type_traits>

#include "caffe2/core/half.h"
#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {

// float for the 16-bit types, the type itself otherwise.
template <typename T>
struct ArithmeticTypeOf {
  using type = T;
};
template <>
struct ArithmeticTypeOf<float16> {
  using type = float;
};
template <>
struct ArithmeticTypeOf<bfloat16> {
  using type = float;
};
template <typename T>
using ArithmeticType = typename ArithmeticTypeOf<T>::type;

template <typename T>
ArithmeticType<T> Widen(T value) {
  if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
    return value;
  } else {
    return ToFloat(value);
  }
}

template <typename T>
T Narrow(ArithmeticType<T> value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat16(value);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return ToBFloat16(value);
  } else {
    return value;
  }
}

using FloatTypes = TensorTypes<float, double, float16, bfloat16>;
using NumericTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16>;
using IntegerTypes = TensorTypes<int32_t, int64_t>;
using IndexTypes = TensorTypes<int32_t, int64_t>;
using BoolTypes = TensorTypes<bool>;

// Loops over fewer elements stay in one thread: waking threads would cost more than the work.
constexpr int64_t kElementwiseGrain = 32768;

}  // namespace caffe2
