#include "train/stop_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace caffe2 {
namespace {

TEST(StopSignalTest, NotesTheFirstSignalOnAStackOfItsOwn) {
  const StopSignal stop;
  struct sigaction action = {};
  ASSERT_EQ(sigaction(SIGTERM, nullptr, &action), 0);
  EXPECT_NE(action.sa_flags & SA_ONSTACK, 0);
  stack_t stack = {};
  ASSERT_EQ(sigaltstack(nullptr, &stack), 0);
  EXPECT_EQ(stack.ss_flags & SS_DISABLE, 0);
  EXPECT_GE(stack.ss_size, static_cast<size_t>(sysconf(_SC_SIGSTKSZ)));
  EXPECT_EQ(StopSignal::Received(), 0);
  ASSERT_EQ(raise(SIGTERM), 0);
  EXPECT_EQ(StopSignal::Received(), SIGTERM);
}

TEST(StopSignalTest, TheSameSignalAgainEndsTheProcessUnlessItFollowsAtOnce) {
  const auto stop_twice = [](double pause) {
    const StopSignal stop;
    raise(SIGINT);
    raise(SIGTERM);  // another signal is no repetition
    raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    if (pause > 0) raise(SIGINT);
    std::_Exit(StopSignal::Received());
  };
  EXPECT_EXIT(stop_twice(0), ::testing::ExitedWithCode(SIGTERM), "");
  EXPECT_EXIT(stop_twice(StopSignal::kRepeatSeconds + 0.1), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace caffe2
