// The element types of activations on each device.
#pragma once

#include <type_traits>

#include "caffe2/core/operator.h"

namespace caffe2 {

// float and bfloat16; devices other than the CPU also take float16.
template <class Context>
using ActivationTypes =
    std::conditional_t<Context::kDeviceType == CPU, TensorTypes<float, bfloat16>,
                       TensorTypes<float, float16, bfloat16>>;

}  // namespace caffe2
