#include "train/shard_launch.h"

#include <gtest/gtest.h>

#include <string>

#include "caffe2/core/usage_error.h"

namespace caffe2 {
namespace {

ShardOptions LocalShard(int local_rank) {
  ShardOptions shards;
  shards.shard_id = 10 + local_rank;
  shards.local_rank = local_rank;
  return shards;
}

TEST(FirstGpuTest, ShardsOfAHostDivideItsGpus) {
  EXPECT_EQ(FirstGpu(LocalShard(0), 2, 8), 0);
  EXPECT_EQ(FirstGpu(LocalShard(1), 2, 8), 2);
  EXPECT_EQ(FirstGpu(LocalShard(3), 2, 8), 6);
}

TEST(FirstGpuTest, AShardThatSeesOnlyItsOwnTakesThem) {
  EXPECT_EQ(FirstGpu(LocalShard(3), 1, 1), 0);
  EXPECT_EQ(FirstGpu(LocalShard(1), 4, 4), 0);
}

TEST(FirstGpuTest, TooFewAreAnErrorThatNamesThem) {
  EXPECT_THROW(FirstGpu(LocalShard(0), 2, 1), UsageError);
  try {
    FirstGpu(LocalShard(2), 2, 5);
    FAIL() << "GPU 5 does not exist";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    for (const char* part : {"shard 12", "local rank 2", "GPUs 4 to 5", "there are 5"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

Launch LaunchOf(const std::string& store) {
  Launch launch;
  launch.rank = 3;
  launch.size = 6;
  launch.num_servers = 2;
  launch.local_rank = 1;
  launch.local_size = 2;
  launch.run_id = "job7";
  launch.store = ParseStoreUrl(store);
  return launch;
}

TEST(ApplyLaunchTest, ServersAreNoShards) {
  ShardOptions shards;
  ApplyLaunch(LaunchOf("file:///shared"), &shards);
  EXPECT_EQ(shards.num_shards, 4);
  EXPECT_EQ(shards.num_servers, 2);
  EXPECT_EQ(shards.shard_id, 3);
  EXPECT_EQ(shards.local_rank, 1);
  EXPECT_EQ(shards.local_size, 2);
  EXPECT_EQ(shards.run_id, "job7");
  EXPECT_EQ(shards.file_store_path, "/shared");
}

TEST(ApplyLaunchTest, UrlsOfStores) {
  ShardOptions tcp;
  ApplyLaunch(LaunchOf("tcp://10.0.0.5:29500"), &tcp);
  EXPECT_EQ(tcp.tcp_store.ToString(), "tcp://10.0.0.5:29500");

  ShardOptions redis;
  redis.store_password = "from a file";
  ApplyLaunch(LaunchOf("rediss://me@cache:7000/3"), &redis);
  EXPECT_EQ(redis.redis_host, "cache");
  EXPECT_EQ(redis.redis_port, 7000);
  EXPECT_EQ(redis.redis_user, "me");
  EXPECT_EQ(redis.redis_db, 3);
  EXPECT_TRUE(redis.redis_tls);
  EXPECT_EQ(redis.store_password, "from a file");
  ApplyLaunch(LaunchOf("redis://:secret@cache"), &redis);
  EXPECT_EQ(redis.store_password, "secret");
  EXPECT_FALSE(redis.redis_tls);
}

TEST(ApplyLaunchTest, WithoutAStoreTheOneOfTheFlagsStays) {
  ShardOptions shards;
  shards.file_store_path = "/flag";
  Launch launch = LaunchOf("file:///launch");
  launch.store = {};
  ApplyLaunch(launch, &shards);
  EXPECT_EQ(shards.file_store_path, "/flag");
  EXPECT_TRUE(shards.tcp_store.empty());
}

TEST(ServeRunTest, ProcessesWithoutAPartEndAtOnce) {
  ShardOptions shards;
  Launch launch;
  launch.role = Launch::Role::kIdle;
  EXPECT_EQ(ServeRun(launch, shards), 0);
  launch.role = Launch::Role::kStoreKeeper;  // of a run of one process, which needs no store
  EXPECT_EQ(ServeRun(launch, shards), 0);
}

}  // namespace
}  // namespace caffe2
