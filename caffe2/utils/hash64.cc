#include "caffe2/utils/hash64.h"

#include <cstring>
#include <initializer_list>

namespace caffe2 {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu,
                   kPrime3 = 0x165667B19E3779F9u, kPrime4 = 0x85EBCA77C2B2AE63u,
                   kPrime5 = 0x27D4EB2F165667C5u;

uint64_t Rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

template <typename T>
uint64_t Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t Round(uint64_t lane, uint64_t word) { return Rotate(lane + word * kPrime2, 31) * kPrime1; }

uint64_t Merge(uint64_t hash, uint64_t lane) { return (hash ^ Round(0, lane)) * kPrime1 + kPrime4; }

uint64_t Finish(uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace

uint64_t Hash64(const void* data, size_t size, uint64_t seed) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const uint8_t* const end = bytes + size;
  uint64_t hash = seed + kPrime5;
  if (size >= 32) {
    uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; end - bytes >= 32; bytes += 32) {
      a = Round(a, Load<uint64_t>(bytes));
      b = Round(b, Load<uint64_t>(bytes + 8));
      c = Round(c, Load<uint64_t>(bytes + 16));
      d = Round(d, Load<uint64_t>(bytes + 24));
    }
    hash = Rotate(a, 1) + Rotate(b, 7) + Rotate(c, 12) + Rotate(d, 18);
    for (const uint64_t lane : {a, b, c, d}) hash = Merge(hash, lane);
  }
  hash += size;
  for (; end - bytes >= 8; bytes += 8) {
    hash = Rotate(hash ^ Round(0, Load<uint64_t>(bytes)), 27) * kPrime1 + kPrime4;
  }
  if (end - bytes >= 4) {
    hash = Rotate(hash ^ Load<uint32_t>(bytes) * kPrime1, 23) * kPrime2 + kPrime3;
    bytes += 4;
  }
  for (; bytes != end; ++bytes) hash = Rotate(hash ^ *bytes * kPrime5, 11) * kPrime1;
  return Finish(hash);
}

}  // namespace caffe2
