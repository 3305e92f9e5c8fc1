#include "distributed/launcher/restart_policy.h"

#include <gtest/gtest.h>

#include "distributed/launcher/launch_report.h"

namespace caffe2 {
namespace {

TEST(RestartPolicyTest, RetriesOnlyWhatMaySucceed) {
  for (const int status : {1, 69, 70, 71, 74, 75, 128 + 9, 128 + 11, 255}) {
    EXPECT_TRUE(MayRetry(status)) << status;
  }
  for (const int status : {0, 64, 65, 66, 73, 76, 77}) EXPECT_FALSE(MayRetry(status)) << status;
}

TEST(RestartPolicyTest, CountsRestarts) {
  RestartPolicy policy(4, 4, 2, {{"localhost", 4}});
  EXPECT_TRUE(policy.Next("localhost", 137).restart);
  const RestartDecision second = policy.Next("localhost", 137);
  EXPECT_TRUE(second.restart);
  EXPECT_EQ(second.num_shards, 4);  // the only host is never left out
  EXPECT_FALSE(policy.Next("localhost", 137).restart);
  RestartPolicy other(4, 4, 2, {});
  EXPECT_FALSE(other.Next("a", 64).restart);
  EXPECT_TRUE(other.Next("a", 75).restart);
}

TEST(RestartPolicyTest, LeavesOutAHostThatFailedTwice) {
  RestartPolicy policy(6, 3, 9, {{"a", 2}, {"b", 2}, {"c", 2}});
  EXPECT_EQ(policy.Next("b", 137).hosts.size(), 3u);
  EXPECT_EQ(policy.Next("a", 137).num_shards, 6);
  const RestartDecision without = policy.Next("b", 137);
  EXPECT_TRUE(without.restart);
  EXPECT_EQ(without.num_shards, 4);
  EXPECT_EQ(without.hosts, (std::vector<HostSlots>{{"a", 2}, {"c", 2}}));
  EXPECT_NE(without.reason.find("without b"), std::string::npos);
  const RestartDecision last = policy.Next("a", 137);
  EXPECT_FALSE(last.restart);
  EXPECT_NE(last.reason.find("--min_shards is 3"), std::string::npos) << last.reason;
}

TEST(RestartPolicyTest, ManySlotsReplaceALostHost) {
  RestartPolicy policy(2, 2, 9, {{"a", 2}, {"b", 2}});
  policy.Next("a", 1);
  EXPECT_EQ(policy.Next("a", 1).num_shards, 2);
}

TEST(RestartPolicyTest, UsesHostsThatAHostFileAdds) {
  RestartPolicy policy(4, 1, 9, {{"a", 2}, {"b", 2}});
  policy.Next("b", 1);
  EXPECT_EQ(policy.Next("b", 1).num_shards, 2);
  EXPECT_EQ(policy.PossibleShards(), 2);
  policy.SetHosts({{"a", 2}, {"b", 2}, {"c", 1}});  // b is still left out
  EXPECT_EQ(policy.UsableHosts(), (std::vector<HostSlots>{{"a", 2}, {"c", 1}}));
  EXPECT_EQ(policy.Next("a", 1).num_shards, 3);
  policy.SetHosts({{"a", 2}, {"c", 8}});
  EXPECT_EQ(policy.PossibleShards(), 4);  // max_shards
}

TEST(RestartPolicyTest, AHostThatIsTakenOutAndPutBackIsUsedAgain) {
  RestartPolicy policy(4, 1, 9, {{"a", 2}, {"b", 2}});
  policy.Next("b", 1);
  policy.Next("b", 1);
  policy.SetHosts({{"a", 2}});
  policy.SetHosts({{"a", 2}, {"b", 2}});
  EXPECT_EQ(policy.PossibleShards(), 4);
  EXPECT_EQ(policy.Next("b", 1).num_shards, 4);  // its first failure
  EXPECT_EQ(policy.Next("b", 1).num_shards, 2);
  policy.SetHosts({{"b", 3}});  // nothing else is left
  EXPECT_EQ(policy.PossibleShards(), 3);
}

TEST(RestartPolicyTest, FewerHostsThanNeededEndTheRun) {
  RestartPolicy policy(4, 4, 9, {{"a", 4}});
  policy.SetHosts({{"a", 3}});
  const RestartDecision decision = policy.Next("a", 1);
  EXPECT_FALSE(decision.restart);
  EXPECT_EQ(decision.reason, "only 3 shards are possible, --min_shards is 4");
}

TEST(LaunchReportTest, OnlyShardsThatEndedBySignalStoppedToGrow) {
  AttemptResult result;
  result.was_told_to_grow = true;
  result.ends = {{0, "a", 143, 1, true, {}}, {1, "a", 75, 1, true, {}}, {2, "a", 0, 1, true, {}}};
  EXPECT_TRUE(result.StoppedToGrow());
  result.ends[0].status = 73;  // it could not write its checkpoint
  EXPECT_FALSE(result.StoppedToGrow());
  result.ends[0] = {0, "a", 137, 1, false, {}};  // it died before
  EXPECT_FALSE(result.StoppedToGrow());
  result.ends = {{0, "a", 0, 1, true, {}}, {1, "a", 0, 1, true, {}}};
  EXPECT_FALSE(result.StoppedToGrow());
  EXPECT_TRUE(result.ok());
}

TEST(LaunchReportTest, AnExpendableShardIsToBlameOnlyIfTheRunFails) {
  AttemptResult result;
  result.ends = {{1, "a", 137, 1, false, {}, true}, {0, "a", 0, 2, false, {}}};
  LaunchPlan plan;
  plan.num_shards = 2;
  plan.run_id = "r";
  result.seconds = 2;
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(LauncherExitStatus(result), 0);
  EXPECT_EQ(ReportOf(plan, result, ""), "doppio: run r: done without shard 1 of 2 after 2.0 s\n");
  result.ends[1].status = 75;
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(LauncherExitStatus(result), 137);
}

TEST(LaunchReportTest, BlamesTheFirstThatFailedByItself) {
  AttemptResult result;
  result.ends = {{0, "a", 0, 1, false, {}},
                 {1, "a", 75, 1, false, {}},
                 {2, "b", 137, 2, false, {"last"}},
                 {3, "b", 143, 3, true, {}}};
  ASSERT_NE(result.FirstFailure(), nullptr);
  EXPECT_EQ(result.FirstFailure()->shard, 2);
  EXPECT_EQ(LauncherExitStatus(result), 137);
  LaunchPlan plan;
  plan.num_shards = 4;
  plan.run_id = "r";
  const std::string report = ReportOf(plan, result, "logs");
  EXPECT_EQ(report,
            "doppio: run r: failed; first shard 2 on b: signal 9 (Killed) after 2.0 s\n"
            "doppio:   then shard 0 on a: exit status 0 (done) after 1.0 s\n"
            "doppio:   then shard 1 on a: exit status 75 (peer lost) after 1.0 s\n"
            "doppio:   then shard 3 on b: signal 15 (Terminated) after 3.0 s\n"
            "doppio: last lines of shard 2 (all: logs/shard-2.log):\n"
            "doppio:   | last\n");
  EXPECT_EQ(result.Suspect()->shard, 2);
  result.ends.erase(result.ends.begin() + 2);
  EXPECT_EQ(result.FirstFailure()->shard, 1);
  EXPECT_EQ(result.Suspect()->shard, 3);  // it did not notice by itself that a shard was lost
  result.ends.back().status = 75;         // but had to be told
  EXPECT_EQ(result.Suspect()->shard, 1);
  result.signal = 2;
  EXPECT_EQ(LauncherExitStatus(result), 130);
}

}  // namespace
}  // namespace caffe2
