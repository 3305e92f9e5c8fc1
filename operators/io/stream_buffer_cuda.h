// Device memory that is reused for each batch of input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2 {

// A buffer for the work of one stream, which grows as needed. When it grows or is destroyed, the
// old memory is freed in the order of the stream. Not thread-safe.
class StreamBuffer {
 public:
  StreamBuffer(int device, cuda::Stream stream) : device_(device), stream_(stream) {}
  ~StreamBuffer();
  StreamBuffer(StreamBuffer&& other) noexcept;
  StreamBuffer& operator=(StreamBuffer&&) = delete;

  // Makes room for `bytes` bytes; if the buffer grows, its contents are lost. Throws
  // OutOfMemoryError.
  void Reserve(size_t bytes);
  uint8_t* data() const { return data_; }

 private:
  const int device_;
  const cuda::Stream stream_;
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace caffe2
