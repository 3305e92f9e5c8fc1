#include "distributed/run_blame.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "caffe2/utils/waiting_time.h"
#include "distributed/run_record.h"

namespace caffe2::testing {
namespace {

std::string Heartbeat(int64_t started, const std::string& operation) {
  return FormatRecord(
      {{"beat", "1"}, {"collective", std::to_string(started)}, {"operation", operation}});
}

const CollectiveProgress kOwn = {8, "Allreduce b"};

TEST(RunBlameTest, NamesTheShardBehindAndWhatIsAwaited) {
  const auto culprit =
      FindLaggingShard(0, kOwn, {"", Heartbeat(8, "Allreduce b"), Heartbeat(7, "Allreduce a")});
  EXPECT_EQ(culprit.shard, 2);
  EXPECT_EQ(culprit.cause,
            "it does not take part in collective 8 (Allreduce b); its last one is 7 (Allreduce a)");
}

TEST(RunBlameTest, NamesTheOneThatIsFarthestBehind) {
  const auto culprit = FindLaggingShard(
      1, kOwn, {Heartbeat(6, "x"), "", Heartbeat(3, "y"), Heartbeat(9, "z"), Heartbeat(3, "y")});
  EXPECT_EQ(culprit.shard, 2);
  EXPECT_EQ(culprit.cause, "it does not take part in collective 9 (z); its last one is 3 (y)");
}

TEST(RunBlameTest, SaysWhatTheShardDid) {
  const auto cause = [](const std::string& doing) {
    const std::string beat = FormatRecord(
        {{"beat", "1"}, {"collective", "7"}, {"operation", "Allreduce a"}, {"doing", doing}});
    return FindLaggingShard(0, kOwn, {"", beat}).cause;
  };
  EXPECT_EQ(cause("waits for its input, for 6 s"),
            "it does not take part in collective 8 (Allreduce b); its last one is 7 (Allreduce a); "
            "it waits for its input, for 6 s");
  EXPECT_EQ(cause("").find("; it "), std::string::npos);
  EXPECT_LT(cause(std::string(5000, 'x')).size(), 200u);
  EXPECT_EQ(cause("a\nb").find('\n'), std::string::npos);
}

TEST(RunBlameTest, AnActivityIsTheWaitUnderWay) {
  const auto activity = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::string text = CurrentActivity();
    return text.substr(0, text.find(", for "));
  };
  EXPECT_EQ(activity(), "computes");
  const TimedWait collective(WaitFor::kShards);
  EXPECT_EQ(activity(), "takes part in a collective operation");
  const TimedWait log(WaitFor::kLog);
  EXPECT_EQ(activity(), "writes its log");
  const TimedWait input(WaitFor::kInput);
  EXPECT_EQ(activity(), "waits for its input");
}

TEST(RunBlameTest, NamesNobodyIfNobodyIsBehind) {
  EXPECT_EQ(FindLaggingShard(0, kOwn, {"", Heartbeat(8, "b"), Heartbeat(9, "c")}).shard, -1);
  // Its own heartbeat in the store is older than its progress.
  EXPECT_EQ(FindLaggingShard(0, kOwn, {Heartbeat(5, "a"), Heartbeat(8, "b")}).shard, -1);
  EXPECT_EQ(FindLaggingShard(0, kOwn, {"", "no record", "beat=1", ""}).shard, -1);
}

}  // namespace
}  // namespace caffe2::testing
