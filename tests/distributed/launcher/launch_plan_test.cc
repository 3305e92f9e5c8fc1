#include "distributed/launcher/launch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "distributed/launcher/supervisor.h"

namespace caffe2 {
namespace {

using Words = std::vector<std::string>;

LaunchPlan Plan(LaunchEngine engine) {
  LaunchPlan plan;
  plan.engine = engine;
  plan.command = {"train", "--lr", "0.1 x"};
  plan.num_shards = 2;
  plan.run_id = "r";
  plan.restart_count = 1;
  plan.max_restarts = 3;
  plan.master_addr = "a";
  plan.master_port = 20001;
  plan.store_url = "redis://a:10240";
  plan.has_password = true;
  plan.doppio = "/opt/doppio";
  plan.directory = "/home/it's";
  return plan;
}

bool Has(const Words& words, const Words& part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

TEST(LaunchPlanTest, LocalShards) {
  LaunchPlan plan = Plan(LaunchEngine::kLocal);
  plan.hosts = {{"localhost", 2}};
  plan.exported = {{"MY", "own"}};
  const auto processes = ProcessesOf(plan);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[1].shard, 1);
  EXPECT_EQ(processes[1].host, "localhost");
  EXPECT_EQ(processes[1].words, (Words{"/opt/doppio",
                                       "shard",
                                       "--controlled",
                                       "--env",
                                       "DOPPIO_STORE=redis://a:10240",
                                       "--env",
                                       "LOCAL_RANK=1",
                                       "--env",
                                       "LOCAL_WORLD_SIZE=2",
                                       "--env",
                                       "MASTER_ADDR=a",
                                       "--env",
                                       "MASTER_PORT=20001",
                                       "--env",
                                       "MY=own",
                                       "--env",
                                       "RANK=1",
                                       "--env",
                                       "TORCHELASTIC_MAX_RESTARTS=3",
                                       "--env",
                                       "TORCHELASTIC_RESTART_COUNT=1",
                                       "--env",
                                       "TORCHELASTIC_RUN_ID=r",
                                       "--env",
                                       "WORLD_SIZE=2",
                                       "--",
                                       "train",
                                       "--lr",
                                       "0.1 x"}));
}

TEST(LaunchPlanTest, SshShards) {
  LaunchPlan plan = Plan(LaunchEngine::kSsh);
  plan.hosts = {{"a", 1}, {"b", 1}};
  plan.ssh = {"ssh", "-p", "2222"};
  const auto processes = ProcessesOf(plan);
  ASSERT_EQ(processes.size(), 2u);
  const Words& words = processes[1].words;
  EXPECT_TRUE(Has(words, {"ssh", "-p", "2222", "-T"}));
  EXPECT_EQ(words[words.size() - 2], "b");
  EXPECT_EQ(
      words.back().rfind("cd '/home/it'\\''s' && exec /opt/doppio shard --controlled --lease", 0),
      0u)
      << words.back();
  EXPECT_NE(words.back().find("LOCAL_RANK=0 --env LOCAL_WORLD_SIZE=1"), std::string::npos);
  EXPECT_NE(words.back().find("-- train --lr '0.1 x'"), std::string::npos);
}

TEST(LaunchPlanTest, OtherLaunchers) {
  LaunchPlan plan = Plan(LaunchEngine::kMpi);
  plan.hosts = {{"a", 1}, {"b", 1}};
  const auto mpirun = ProcessesOf(plan);
  ASSERT_EQ(mpirun.size(), 1u);
  EXPECT_EQ(mpirun[0].shard, LaunchProcess::kAllShards);
  EXPECT_TRUE(Has(mpirun[0].words, {"/opt/doppio", "shard", "--controlled", "--", "mpirun", "-n",
                                    "2", "--host", "a:1,b:1"}));
  EXPECT_TRUE(Has(mpirun[0].words, {"-x", "REDISCLI_AUTH"}));
  EXPECT_TRUE(Has(mpirun[0].words, {"/opt/doppio", "shard", "--placed_by_environment"}));
  EXPECT_FALSE(Has(mpirun[0].words, {"--env", "RANK=0"}));
  plan.engine = LaunchEngine::kSlurm;
  plan.has_password = false;
  const auto srun = ProcessesOf(plan);
  EXPECT_TRUE(Has(srun[0].words, {"--", "srun", "--ntasks", "2"}));
  EXPECT_TRUE(Has(srun[0].words, {"--nodelist", "a,b"}));
}

TEST(LaunchPlanTest, Quotes) {
  EXPECT_EQ(ShellQuote("--a=b/c.d"), "--a=b/c.d");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("$x"), "'$x'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
}

TEST(LaunchControlTest, LinesComeBack) {
  using Kind = LaunchControl::Kind;
  for (const LaunchControl& control : {LaunchControl{Kind::kPassword, "a b", 0},
                                       {Kind::kStart, "", 0},
                                       {Kind::kSignal, "", 15},
                                       LaunchControl{}}) {
    const std::string line = control.Format();
    ASSERT_EQ(line.back(), '\n');
    const LaunchControl parsed = LaunchControl::Parse(line.substr(0, line.size() - 1));
    EXPECT_EQ(parsed.kind, control.kind);
    EXPECT_EQ(parsed.password, control.password);
    EXPECT_EQ(parsed.signal, control.signal);
  }
  for (const char* line : {"", "signal x", "signal 99", "stop"}) {
    EXPECT_THROW(LaunchControl::Parse(line), IoError) << line;
  }
}

}  // namespace
}  // namespace caffe2
