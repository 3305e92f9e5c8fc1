#include "distributed/run_inspection.h"

#include <gtest/gtest.h>

#include "distributed/file_store_handler.h"
#include "tests/db/temporary_directory.h"

namespace caffe2 {
namespace {

// A run of three shards in a file store: shard 0 is this process, shard 1 a dead process of this
// host, shard 2 runs on another host.
class RunInspectionTest : public ::testing::Test {
 protected:
  RunInspectionTest()
      : stores_(FileStores(directory_.Path("."))),
        store_(stores_("run")),
        inspector_(stores_, NewFileBrowser(directory_.Path("."))) {
    store_->Put("generation", "2");
    store_->Put("2/config", "num_shards=3 version=1");
    Join(0, ProcessId::Self(), 7);
    ProcessId dead = ProcessId::Self();
    dead.start_time += 1;  // another process that had this pid
    Join(1, dead, 5);
    Join(2, {.host = "far", .boot_id = "other", .pid = 17}, 7);
  }

  void Join(int shard, const ProcessId& process, int collective) {
    store_->Put(MakeString("2/member/", shard), MemberRecord{process, 0}.Format());
    Beat(shard, 1, collective);
    store_->SetFields(MakeString("status/", shard), {{"host", process.host}, {"loss", "0.5: x"}},
                      milliseconds(0));
  }
  void Beat(int shard, int beat, int collective) {
    store_->Put(MakeString("2/heartbeat/", shard),
                FormatRecord({{"beat", std::to_string(beat)},
                              {"collective", std::to_string(collective)},
                              {"operation", "Allreduce"}}));
  }

  const testing::TemporaryDirectory directory_;
  const StoreFactory stores_;
  const std::unique_ptr<StoreHandler> store_;
  RunInspector inspector_;
};

TEST_F(RunInspectionTest, ReadsWhatTheShardsWrote) {
  EXPECT_EQ(inspector_.RunIds(), (std::vector<std::string>{"run"}));
  const RunView run = inspector_.Read("run");
  EXPECT_EQ(run.generation, 2);
  EXPECT_EQ(run.failure, "");
  ASSERT_EQ(run.shards.size(), 3u);
  EXPECT_EQ(run.shards[2].member->process.host, "far");
  EXPECT_EQ(run.shards[2].status.at("host"), "far");
  EXPECT_EQ(run.shards[1].status.at("loss"), "0.5: x");
  EXPECT_EQ(run.shards[0].heartbeat.at("operation"), "Allreduce");
}

TEST_F(RunInspectionTest, AheadShardsWaitForThoseBehind) {
  const RunView run = inspector_.Read("run");
  EXPECT_EQ(run.shards[0].waits_for, std::vector<int>{1});
  EXPECT_EQ(run.shards[1].waits_for, std::vector<int>{});
  EXPECT_EQ(run.shards[2].waits_for, std::vector<int>{1});
}

TEST_F(RunInspectionTest, AChangedHeartbeatProvesTheLifeOfAnotherHost) {
  RunView run = inspector_.Read("run");
  EXPECT_EQ(run.shards[0].life, ShardLife::kAlive);
  EXPECT_EQ(run.shards[1].life, ShardLife::kDead);
  EXPECT_EQ(run.shards[2].life, ShardLife::kUnknown);
  EXPECT_EQ(run.life(), ShardLife::kAlive);
  Beat(2, 2, 7);
  EXPECT_EQ(inspector_.Read("run").shards[2].life, ShardLife::kAlive);
  store_->Remove("2/member/2");
  EXPECT_EQ(inspector_.Read("run").shards[2].life, ShardLife::kDead);
}

TEST_F(RunInspectionTest, AHeartbeatThatExpiresIsNoSignOfLife) {
  EXPECT_EQ(inspector_.Read("run").shards[2].life, ShardLife::kUnknown);
  store_->Remove("2/heartbeat/2");
  EXPECT_EQ(inspector_.Read("run").shards[2].life, ShardLife::kUnknown);
}

TEST_F(RunInspectionTest, ARunIsDeadOnlyIfAllItsShardsAre) {
  store_->Remove("2/member/0");
  EXPECT_EQ(inspector_.Read("run").life(), ShardLife::kUnknown);
  EXPECT_EQ(inspector_.Watch({"run"}, milliseconds(1)).at(0).life(), ShardLife::kUnknown);
  store_->Remove("2/member/2");
  EXPECT_EQ(inspector_.Read("run").life(), ShardLife::kDead);
}

TEST_F(RunInspectionTest, ShowsTheFailureOfTheGeneration) {
  RecordFailure(store_.get(), 2, RunFailure::kLost, "peer lost: shard=1");
  EXPECT_EQ(inspector_.Read("run").failure, "peer lost: shard=1");
}

TEST_F(RunInspectionTest, RemovesEveryKeyAndNoOtherRun) {
  store_->Add("2/counter", 3);
  const auto other = stores_("other");
  other->Put("generation", "1");
  EXPECT_EQ(inspector_.Remove("run"), 11u);  // the counter has no name of its own
  EXPECT_FALSE(store_->Check({"generation"}));
  EXPECT_FALSE(store_->TryGet("2/counter"));
  EXPECT_EQ(inspector_.RunIds(), (std::vector<std::string>{"other"}));
}

TEST_F(RunInspectionTest, KeysMayHoldAnything) {
  store_->Put("2/config", std::string("\x01 \xff", 3));
  store_->Put("2/member/1", "hmac-sha256 00 host=a");
  store_->Put("status/99999999999999999999", "x");
  const RunView run = inspector_.Read("run");
  EXPECT_EQ(run.shards[1].life, ShardLife::kUnknown);
  EXPECT_LE(run.shards.size(), 4096u);
  store_->Put("generation", "many");
  EXPECT_EQ(inspector_.Read("run").life(), ShardLife::kUnknown);
  EXPECT_THROW(inspector_.Read("../run"), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
