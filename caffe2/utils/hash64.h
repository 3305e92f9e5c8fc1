// XXH64, a fast 64-bit hash (Collet, https://xxhash.com). Finds accidental differences, not
// attacks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caffe2 {

// The hash of `size` bytes. The same on every machine with little-endian integers.
uint64_t Hash64(const void* data, size_t size, uint64_t seed = 0);

}  // namespace caffe2
