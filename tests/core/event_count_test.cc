#include "caffe2/core/event_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace caffe2 {
namespace {

// Changes that come about when the other thread goes to sleep. Without the fences of Notify() and
// Await() one of some thousand was missed for ever on two cores.
TEST(EventCountTest, NoChangeIsMissed) {
  constexpr int kRounds = 20000;
  EventCount changed;
  std::atomic<int> value{0}, begun{0}, seen{0};
  std::thread waits([&] {
    for (int round = 1; round <= kRounds; ++round) {
      begun.store(round);
      changed.Await([&] { return value.load(std::memory_order_acquire) >= round; });
      seen.store(round);
    }
  });
  std::minstd_rand random(1);
  int missed = 0;
  for (int round = 1; round <= kRounds && missed == 0; ++round) {
    while (begun.load() < round) std::this_thread::yield();
    for (unsigned i = random() % 1000; i > 0; --i) PauseProcessor();
    value.store(round, std::memory_order_release);
    changed.Notify();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (seen.load() < round && missed == 0) {
      if (std::chrono::steady_clock::now() > end) missed = round;
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(missed, 0);
  value.store(kRounds, std::memory_order_seq_cst);
  for (; seen.load() < kRounds; std::this_thread::yield()) changed.Notify();
  waits.join();
}

}  // namespace
}  // namespace caffe2
