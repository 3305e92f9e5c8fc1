#include "train/stop_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

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

}  // namespace
}  // namespace caffe2
