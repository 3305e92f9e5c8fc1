// The gradients of a convolution on CUDA devices, by plans of cuDNN whose sums are right.
//
// In float, some exact plans of cuDNN 9.19 have wrong sums on an H200 if the padding differs from
// side to side: engine 0 for the gradient of the input, also where strides differ from axis to axis
// (kernel 7 x 7, strides 2 and 1, padding of 2 and 3: the sums differ from run to run), and engine
// 1 for the gradient of the filter (all sums are wrong). Such gradients are therefore computed for
// padded images, for which all plans are right. This takes as much temporary memory as the padded
// images.
#pragma once

#include "caffe2/cuda/convolution.h"

namespace caffe2 {

// Both throw OutOfMemoryError if there is no memory for padded images, and the exceptions of
// cuda::Convolve. Pointers are to the device's memory.

// Like cuda::Convolve in the direction kBackwardData: writes dx or, with `add`, adds to it.
void ConvInputGradient(const cuda::ConvProblem& problem, const void* filter, const void* dy,
                       void* dx, int device, cuda::Stream stream, bool add = false);

// Like cuda::Convolve in the direction kBackwardFilter: writes dfilter.
void ConvFilterGradient(const cuda::ConvProblem& problem, const void* x, const void* dy,
                        void* dfilter, int device, cuda::Stream stream);

}  // namespace caffe2
