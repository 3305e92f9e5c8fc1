// Seeds for independent random streams.
#pragma once

#include <cstdint>

namespace caffe2::db {

// The seed of stream `index`. For a fixed `seed` it is a bijection of the index (the finalizer of
// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
inline uint64_t MixSeed(uint64_t seed, uint64_t index) {
  uint64_t x = seed + 0x9E3779B97F4A7C15u * (index + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace caffe2::db
