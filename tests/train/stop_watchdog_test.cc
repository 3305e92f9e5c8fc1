#include "train/stop_watchdog.h"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <string>

#include "caffe2/core/logging.h"
#include "caffe2/utils/waiting_time.h"
#include "caffe2/utils/write_count.h"

namespace caffe2 {
namespace {

constexpr std::chrono::seconds kLong{120};

TEST(StopWatchdogTest, EndsAProcessThatIsBeingSetUp) {
  std::promise<std::pair<std::string, int>> ended;
  StopWatchdog watchdog([] { return SIGTERM; },
                        [&](const std::string& reason, int signal) {
                          ended.set_value({reason, signal});
                        });
  watchdog.WatchSetUp();
  auto result = ended.get_future();
  ASSERT_EQ(result.wait_for(kLong), std::future_status::ready);
  const auto [reason, signal] = result.get();
  EXPECT_EQ(signal, SIGTERM);
  EXPECT_EQ(reason, "stopped by signal 15 while the run was set up: nothing is lost");
  EXPECT_FALSE(watchdog.gave_up());
}

TEST(StopWatchdogTest, EndsAProcessWhoseStoreDoesNotAnswer) {
  std::promise<std::string> ended;
  StopWatchdog watchdog([] { return SIGHUP; },
                        [&](const std::string& reason, int) { ended.set_value(reason); });
  auto reason = ended.get_future();
  ASSERT_EQ(reason.wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(reason.get(), "stopped by signal 1 while it joined the run: nothing is lost");
}

TEST(StopWatchdogTest, GivesUpAWaitForInputThatDoesNotEnd) {
  std::promise<void> gave_up;
  std::atomic<int> asked{0};
  StopWatchdog watchdog([&] { return asked.load(); },
                        [](const std::string& reason, int) { ADD_FAILURE() << reason; });
  watchdog.WatchRun([&] { gave_up.set_value(); },
                    [](int, const std::string& what) { ADD_FAILURE() << what; });
  const TimedWait hangs(WaitFor::kInput);
  EXPECT_FALSE(watchdog.gave_up());
  asked = SIGINT;
  ASSERT_EQ(gave_up.get_future().wait_for(kLong), std::future_status::ready);
  EXPECT_TRUE(watchdog.gave_up());
}

// The run ends after its iteration: there is nothing to give up.
TEST(StopWatchdogTest, DoesNothingWhileNothingWaitsForInput) {
  std::atomic<int> looks{0};
  StopWatchdog watchdog(
      [&] {
        ++looks;
        return SIGTERM;
      },
      [](const std::string& reason, int) { ADD_FAILURE() << reason; });
  watchdog.WatchRun([] { ADD_FAILURE() << "gave up"; },
                    [](int, const std::string& what) { ADD_FAILURE() << what; });
  const auto end = std::chrono::steady_clock::now() + StopWatchdog::kInput * 4 / 3;
  while (std::chrono::steady_clock::now() < end || looks < 10) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  watchdog.Dismiss();
  EXPECT_FALSE(watchdog.gave_up());
}

// A save or log that is slow, but writes, is waited for.
TEST(StopWatchdogTest, EndsAWriteOnceItWritesNothingMore) {
  for (const WaitFor what : {WaitFor::kSave, WaitFor::kLog}) {
    std::promise<std::string> ended;
    auto end_of_write = ended.get_future();
    StopWatchdog watchdog([] { return SIGTERM; },
                          [](const std::string& reason, int) { ADD_FAILURE() << reason; });
    const TimedWait hangs(what);
    watchdog.WatchRun([] { ADD_FAILURE() << "gave up"; },
                      [&](int signal, const std::string& writing) {
                        ended.set_value(MakeString(signal, " ", writing));
                      });
    const auto end = std::chrono::steady_clock::now() + StopWatchdog::kWrite * 6 / 5;
    while (std::chrono::steady_clock::now() < end) {
      CountWrite();
      ASSERT_EQ(end_of_write.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    }
    ASSERT_EQ(end_of_write.wait_for(kLong), std::future_status::ready);
    EXPECT_EQ(end_of_write.get(), what == WaitFor::kSave ? "15 a checkpoint or model" : "15 a log");
  }
}

}  // namespace
}  // namespace caffe2
