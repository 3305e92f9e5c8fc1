// Sums over columns that are computed in several parts, on CUDA devices.
#pragma once

#include <algorithm>

#include "operators/common/host_device_cuda.h"
#include "operators/norm/group_norm_functions.h"

namespace caffe2 {

// The number of threads that fill a device. Columns are divided to get about as many parts.
constexpr int64_t kColumnThreads = 1 << 17;

// The number of parts into which `threads` sums over `length` elements each are divided.
inline int64_t PartsOf(int64_t threads, int64_t length) {
  constexpr int64_t kMinElements = 32;  // the least work of a thread
  const int64_t wanted = kColumnThreads / std::max<int64_t>(1, threads);
  return std::max<int64_t>(1, std::min(wanted, length / kMinElements));
}

// Rows of `count` doubles in device memory.
class DoubleRows {
 public:
  DoubleRows(int64_t rows, int64_t count, CUDAContext* context)
      : count_(count), storage_(context->device()) {
    storage_.Resize(rows, count);
    data_ = storage_.mutable_data<double>();
  }
  double* row(int64_t i) { return data_ + i * count_; }
  ChannelDots dots() { return {row(0), row(1)}; }

 private:
  int64_t count_;
  Tensor storage_;
  double* data_;
};

}  // namespace caffe2
