#include "caffe2/cuda/scratch.h"

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/stream_memory.h"

namespace caffe2::cuda {

Scratch::Scratch(int64_t nbytes, int device, Stream stream, const char* purpose)
    : device_(device), stream_(stream) {
  if (nbytes == 0) return;
  data_ = IsCompute() ? Allocate(nbytes, device) : AllocateOn(stream, nbytes, device);
  if (data_ != nullptr) return;
  const FreeMemory memory = MemoryOf(device);
  throw OutOfMemoryError(MakeString("out of memory on cuda:", device, ": cannot allocate ", nbytes,
                                    " bytes of ", purpose, "; ", memory.free, " of ", memory.total,
                                    " are free"));
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  IsCompute() ? Free(data_, device_) : FreeOn(stream_, data_, device_);
}

bool Scratch::IsCompute() const { return stream_ == GetStream(device_, kComputeStream); }

}  // namespace caffe2::cuda
