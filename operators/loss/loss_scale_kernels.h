// Loss scaling on CUDA devices. Pointers are device memory.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/common/array_list.h"
#include "operators/loss/loss_scale_rule.h"

namespace caffe2 {

// Divides all elements by *scale, in place if `write`. Sets *found_inf to 1 if a quotient is not
// finite, else leaves it unchanged. T is float, float16 or bfloat16.
template <typename T>
void LaunchUnscale(const ArrayList<T>& arrays, bool write, const float* scale, float* found_inf,
                   cuda::Stream stream);

// Computes the next loss scale (NextLossScale) on the device.
void LaunchUpdateLossScale(const LossScaleRule& rule, const float* found_inf, const float* scale,
                           const int32_t* good_steps, float* scale_out, int32_t* good_steps_out,
                           cuda::Stream stream);

}  // namespace caffe2
