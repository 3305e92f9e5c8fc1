// The gradient of a convolution's input on CUDA devices.
#pragma once

#include "caffe2/cuda/convolution.h"

namespace caffe2 {

// As cuda::Convolve in the direction kBackwardData: writes dx or, with `add`, adds to it.
//
// In float, cuDNN has one exact plan for strides that differ from axis to axis (engine 0), and on
// an H200 that gave other sums from run to run (cuDNN 9.19, kernel 7 x 7, strides 2 and 1). Such a
// gradient is computed with strides of 1, from a dy that has zeros between its pixels.
void ConvInputGradient(const cuda::ConvProblem& problem, const void* filter, const void* dy,
                       void* dx, int device, cuda::Stream stream, bool add = false);

}  // namespace caffe2
