#include "caffe2/utils/waiting_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace caffe2 {
namespace {

void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(TimedWaitTest, CountsWaitsUnderWayAndThoseOfSeveralThreadsOnce) {
  const double input = WaitedSeconds(WaitFor::kInput), shards = WaitedSeconds(WaitFor::kShards);
  const auto start = std::chrono::steady_clock::now();
  {
    const TimedWait first(WaitFor::kInput);
    Sleep(20);
    EXPECT_GE(WaitedSeconds(WaitFor::kInput) - input, 0.02);
    EXPECT_GE(CurrentWaitSeconds(WaitFor::kInput), 0.02);
    std::thread([] {
      const TimedWait second(WaitFor::kInput);
      Sleep(20);
    }).join();
  }
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double waited = WaitedSeconds(WaitFor::kInput) - input;
  EXPECT_GE(waited, 0.04);
  EXPECT_LE(waited, wall);
  Sleep(5);
  EXPECT_EQ(WaitedSeconds(WaitFor::kInput) - input, waited);
  EXPECT_EQ(WaitedSeconds(WaitFor::kShards), shards);
  EXPECT_EQ(CurrentWaitSeconds(WaitFor::kInput), 0);
}

}  // namespace
}  // namespace caffe2
