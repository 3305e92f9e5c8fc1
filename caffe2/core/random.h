// A counter-based random generator (Philox 4x32-10: Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011). Its state is two integers, so that a training run can be resumed
// exactly and a GPU can compute the same stream.
#pragma once

#include <array>
#include <cstdint>

namespace caffe2 {

// A uniform random bit generator of 32-bit words. Not synchronised.
class RandomGenerator {
 public:
  using result_type = uint32_t;
  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return 0xffffffffu; }

  // The word at `position` of the stream given by `seed` is always the same.
  explicit RandomGenerator(uint64_t seed, uint64_t position = 0)
      : seed_(seed), position_(position) {}

  uint32_t operator()() {
    const uint32_t lane = position_ & 3;
    if (lane == 0 || !block_valid_) FillBlock();
    ++position_;
    return block_[lane];
  }

  uint64_t seed() const { return seed_; }
  uint64_t position() const { return position_; }
  void set_position(uint64_t position) {
    position_ = position;
    block_valid_ = false;
  }

  // Uniform in [0, 1), 24 bits.
  float Uniform() { return static_cast<float>((*this)() >> 8) * 0x1p-24f; }
  double UniformDouble() {
    const uint64_t high = (*this)();
    return static_cast<double>(((high << 32) | (*this)()) >> 11) * 0x1p-53;
  }
  // Uniform in {0, ..., bound - 1}; bound > 0. Unbiased.
  uint64_t UniformInt(uint64_t bound);
  // Standard normal (Box-Muller; uses two words of the stream).
  float Normal();

 private:
  void FillBlock();

  uint64_t seed_;
  uint64_t position_;
  bool block_valid_ = false;
  std::array<uint32_t, 4> block_{};
};

// A seed from the system's entropy.
uint32_t RandomSeed();

}  // namespace caffe2
