// Memory of a device for one piece of work.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Memory that only work in one stream uses, the compute stream or another one: what is launched in
// this stream after it has gone may use it again.
class Scratch {
 public:
  // Throws OutOfMemoryError, which says what the memory is for: "workspace for cuDNN". Of no bytes
  // there is nothing.
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
