// CUDA's runtime library as caffe2/cuda/runtime.cc uses it, on the host: two devices whose work is
// done at once or recorded, and which refuse what the real one does while a stream is recorded.
#pragma once

#include <string>
#include <vector>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda::fake {

// What was asked of the library that would do harm without an error: memory that a graph would
// allocate, release or copy from where only the host is at home. Empty in a test that passes.
std::vector<std::string> TakeViolations();
// Blocks of device memory that are allocated now.
int LiveBlocks();
// Allocations of more bytes fail.
void LimitMemory(size_t bytes);

}  // namespace caffe2::cuda::fake
