// Memory of a device that batches of input use again and again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// Grows as needed, for work of one stream. When it grows or is destroyed, the old memory goes back
// in the order of the stream. One thread at a time.
class StreamBuffer {
 public:
  StreamBuffer(int device, cuda::Stream stream) : device_(device), stream_(stream) {}
  ~StreamBuffer();
  StreamBuffer(StreamBuffer&& other) noexcept;
  StreamBuffer& operator=(StreamBuffer&&) = delete;

  // Makes room for so many bytes; what was in it is lost if it grows. Throws OutOfMemoryError.
  void Reserve(size_t bytes);
  uint8_t* data() const { return data_; }

 private:
  const int device_;
  const cuda::Stream stream_;
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace caffe2
