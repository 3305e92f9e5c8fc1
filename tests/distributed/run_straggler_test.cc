#include "distributed/run_straggler.h"

#include <gtest/gtest.h>

#include "tests/distributed/test_util.h"

namespace caffe2 {
namespace {

// The heartbeat of a shard after `seconds`, with these parts of its time.
std::string Beat(double seconds, double waiting, double input, double saving) {
  RunRecord record = {{"beat", "1"}};
  ShardTimes{seconds, seconds * waiting, seconds * input, seconds * saving}.AddTo(&record);
  return FormatRecord(record);
}

TEST(FindStragglerTest, NamesTheShardThatTheOthersWaitForAndItsCause) {
  const Straggler input = FindStraggler({{10, 6, 0.5, 0}, {10, 1, 5, 0}, {10, 5, 1, 0}});
  EXPECT_EQ(input.shard, 1);
  EXPECT_EQ(input.cause, "input");
  EXPECT_NEAR(input.held_back, 0.55 - 0.1, 1e-9);
  EXPECT_NEAR(input.own_part, 0.5, 1e-9);
  EXPECT_NEAR(input.other_part, 0.075, 1e-9);
  EXPECT_EQ(input.Describe("shard 1"),
            "shard 1 holds the others back: they wait for it 45 % of the time; cause: input, 50 % "
            "of its time (others 8 %)");
  const Straggler saving = FindStraggler({{20, 2, 1, 12}, {10, 6, 0.5, 1}});
  EXPECT_EQ(saving.shard, 0);
  EXPECT_EQ(saving.cause, "saving");
  const Straggler computing = FindStraggler({{10, 7, 1, 0}, {10, 7, 1, 0}, {10, 2, 1, 0}});
  EXPECT_EQ(computing.shard, 2);
  EXPECT_EQ(computing.cause, "computing");
  EXPECT_NEAR(computing.own_part, 0.7, 1e-9);
}

// All wait as long for the network, or all read as slowly.
TEST(FindStragglerTest, NamesNobodyWhereAllWaitAlike) {
  EXPECT_EQ(FindStraggler({{10, 8, 0, 0}, {10, 7, 1, 0}, {10, 8, 0, 0}}).shard, -1);
  EXPECT_EQ(FindStraggler({{10, 1, 8, 0}, {10, 1, 8, 0}}).shard, -1);
}

TEST(StragglerWatchTest, JudgesTheLastTenSeconds) {
  StragglerWatch watch;
  EXPECT_EQ(watch.Note({Beat(1, 0.9, 0, 0), Beat(1, 0, 0, 0)}).shard, -1);
  EXPECT_EQ(watch.Note({Beat(8, 0.9, 0, 0), Beat(8, 0, 0, 0)}).shard, -1);
  EXPECT_EQ(watch.Note({Beat(12, 0.9, 0, 0), Beat(12, 0, 0, 0)}).shard, 1);
  // What came before does not count: since then the shards are alike.
  const double kept = 0.9 * 12;
  EXPECT_EQ(watch.Note({Beat(22, kept / 22, 0, 0), Beat(22, 0, 0, 0)}).shard, -1);
}

TEST(StragglerWatchTest, ReadsAnything) {
  StragglerWatch watch;
  for (const char* text : {"", "%", "clock=nan waiting=1 input=1 saving=1",
                           "clock=x waiting= input=1 saving=1", "beat=1"}) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(watch.Note({Beat(i * 20, 0, 0, 0), text}).shard, -1);
  }
}

}  // namespace
}  // namespace caffe2
