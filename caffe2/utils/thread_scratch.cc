#include "caffe2/utils/thread_scratch.h"

#include <memory>

#include "caffe2/core/allocator.h"

namespace caffe2 {

char* ThreadScratch(size_t bytes) {
  thread_local std::shared_ptr<void> memory;
  thread_local size_t capacity = 0;
  if (bytes > capacity) {
    memory.reset();
    capacity = 0;
    memory = GetAllocator(CPU).Allocate(bytes, Device{});
    capacity = bytes;
  }
  return static_cast<char*>(memory.get());
}

}  // namespace caffe2
