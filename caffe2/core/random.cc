#include "caffe2/core/random.h"

#include <cmath>
#include <random>

namespace caffe2 {

void RandomGenerator::FillBlock() {
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  const uint64_t index = position_ >> 2;
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32), c2 = 0,
           c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed_), k1 = static_cast<uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c0;
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  block_ = {c0, c1, c2, c3};
  block_valid_ = true;
}

uint64_t RandomGenerator::UniformInt(uint64_t bound) {
  // Rejection: drop the incomplete last interval of the 64-bit range.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  while (true) {
    const uint64_t high = (*this)();
    const uint64_t value = (high << 32) | (*this)();
    if (value < limit) return value % bound;
  }
}

float RandomGenerator::Normal() {
  // 1 - u is in (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(Uniform())));
  const double angle = 2.0 * 3.14159265358979323846 * static_cast<double>(Uniform());
  return static_cast<float>(radius * std::cos(angle));
}

uint32_t RandomSeed() {
  static std::random_device device;
  return device();
}

}  // namespace caffe2
