// Memory of a device for streams other than the compute stream; part of runtime.cc.
#pragma once

#include <cstddef>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// From the pool of the device that `stream` is of, for work that is launched later on this stream,
// by any thread, whether or not the compute stream is recorded meanwhile; where this stream is
// recorded with it, the memory belongs to the graph. Null if there is not enough. Other streams use
// it behind an event.
void* AllocateOn(Stream stream, size_t nbytes, int device);
// Given out again to work that is launched later on this stream.
void FreeOn(Stream stream, void* data, int device);

}  // namespace caffe2::cuda
