// Whether the writes of this process to its files still make progress.
#pragma once

#include <cstdint>

namespace caffe2 {

// Call it after a part of a file was written, flushed, or read to be checked. Thread-safe.
void CountWrite();
// The number of CountWrite calls so far, in all threads. While a file is written and this number
// stays the same, the disk does not answer.
int64_t CountedWrites();

}  // namespace caffe2
