#include "caffe2/utils/write_count.h"

#include <atomic>

namespace caffe2 {
namespace {

std::atomic<int64_t> writes{0};

}  // namespace

void CountWrite() { ++writes; }
int64_t CountedWrites() { return writes; }

}  // namespace caffe2
