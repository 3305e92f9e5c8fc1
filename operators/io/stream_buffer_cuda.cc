#include "operators/io/stream_buffer_cuda.h"

#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/stream_memory.h"

namespace caffe2 {

StreamBuffer::~StreamBuffer() {
  if (data_ != nullptr) cuda::FreeOn(stream_, data_, device_);
}

StreamBuffer::StreamBuffer(StreamBuffer&& other) noexcept
    : device_(other.device_),
      stream_(other.stream_),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)) {}

void StreamBuffer::Reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  if (data_ != nullptr) cuda::FreeOn(stream_, std::exchange(data_, nullptr), device_);
  capacity_ = 0;
  data_ = static_cast<uint8_t*>(cuda::AllocateOn(stream_, bytes, device_));
  if (data_ == nullptr) {
    const cuda::FreeMemory memory = cuda::MemoryOf(device_);
    throw OutOfMemoryError(MakeString("out of memory on cuda:", device_, ": cannot allocate ",
                                      bytes, " bytes for a batch of input; ", memory.free, " of ",
                                      memory.total, " are free"));
  }
  capacity_ = bytes;
}

}  // namespace caffe2
