// Memory of a device for streams other than the compute stream. Implemented in runtime.cc.
#pragma once

#include <cstddef>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Allocates from the pool of `device` for work that is launched later on `stream`, a stream of that
// device that is not recorded. Any thread may call it, also while the compute stream is recorded.
// Null if there is not enough. Another stream may use the memory only after an event of this
// stream.
void* AllocateOn(Stream stream, size_t nbytes, int device);
// Returns memory to the pool. Work that is launched later on `stream` may get it again.
void FreeOn(Stream stream, void* data, int device);

}  // namespace caffe2::cuda
