// The gradient of a convolution's input on CUDA devices.
#pragma once

#include "caffe2/cuda/convolution.h"

namespace caffe2 {

// Like cuda::Convolve in the direction kBackwardData: writes dx or, with `add`, adds to it.
//
// In float, cuDNN often has one exact plan if the padding differs from side to side or the strides
// differ from axis to axis: engine 0. On an H200 its sums differed from run to run (cuDNN 9.19,
// kernel 7 x 7, strides 2 and 1, padding of 2 and 3). Such a gradient is therefore cut out of the
// gradient of padded images, for which there are other plans. This takes as much temporary memory
// as the padded images. Throws OutOfMemoryError if that is not available, and the exceptions of
// cuda::Convolve.
void ConvInputGradient(const cuda::ConvProblem& problem, const void* filter, const void* dy,
                       void* dx, int device, cuda::Stream stream, bool add = false);

}  // namespace caffe2
