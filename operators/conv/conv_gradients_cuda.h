// The gradients of a convolution on CUDA devices, by plans of cuDNN whose sums are right.
//
// On an H200, some exact float plans of cuDNN 9.19 give wrong sums. If the padding differs from
// side to side, engine 0 is wrong for input gradients and engine 1 for filter gradients. Engine 0
// is also wrong if the strides differ from axis to axis; its sums change from run to run. These
// gradients are therefore computed on padded images, where all plans are right. This takes as much
// temporary memory as the padded images.
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
