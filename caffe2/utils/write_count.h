// Whether the writes of this process to its files still make progress.
#pragma once

#include <cstdint>

namespace caffe2 {

// A part of a file was written or flushed, or read to be checked. Thread-safe.
void CountWrite();
// The calls so far, in all threads. While a file is written and this number stays the same, the
// disk does not answer.
int64_t CountedWrites();

}  // namespace caffe2
