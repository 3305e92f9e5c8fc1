// The element types of activations, which devices differ in.
#pragma once

#include <type_traits>

#include "caffe2/core/operator.h"

namespace caffe2 {

// float and bfloat16; other devices than the CPU compute on float16 too. Sums are formed in float.
template <class Context>
using ActivationTypes =
    std::conditional_t<Context::kDeviceType == CPU, TensorTypes<float, bfloat16>,
                       TensorTypes<float, float16, bfloat16>>;

}  // namespace caffe2
