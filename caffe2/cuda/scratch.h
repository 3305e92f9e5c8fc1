// Temporary memory of a device.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Memory for work in one stream, the compute stream or another. When it is destroyed, work that is
// launched later in the stream may get the memory again.
class Scratch {
 public:
  // Throws OutOfMemoryError, whose text names `purpose` ("workspace for cuDNN"). With 0 bytes get()
  // is null.
  Scratch(int64_t nbytes, int device, Stream stream, const char* purpose);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* get() const { return data_; }

 private:
  bool IsCompute() const;

  int device_;
  Stream stream_;
  void* data_ = nullptr;
};

}  // namespace caffe2::cuda
