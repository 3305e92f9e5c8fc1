// Scratch memory that kernels share.
#pragma once

#include <cstddef>

namespace caffe2 {

// At least `bytes` of this thread's scratch memory, aligned to 64 bytes, uninitialised. Valid until
// this thread's next call, which may return the same bytes. So a kernel calls it once for all that
// it needs, and then calls no function that uses it. The memory grows to the largest request, not
// to their sum, and is freed when the thread ends. Throws what the CPU's allocator throws
// (caffe2/core/allocator.h).
char* ThreadScratch(size_t bytes);

}  // namespace caffe2
