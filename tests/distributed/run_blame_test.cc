#include "distributed/run_blame.h"

#include <gtest/gtest.h>

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

TEST(RunBlameTest, NamesNobodyIfNobodyIsBehind) {
  EXPECT_EQ(FindLaggingShard(0, kOwn, {"", Heartbeat(8, "b"), Heartbeat(9, "c")}).shard, -1);
  // Its own heartbeat in the store is older than its progress.
  EXPECT_EQ(FindLaggingShard(0, kOwn, {Heartbeat(5, "a"), Heartbeat(8, "b")}).shard, -1);
  EXPECT_EQ(FindLaggingShard(0, kOwn, {"", "no record", "beat=1", ""}).shard, -1);
}

}  // namespace
}  // namespace caffe2::testing
