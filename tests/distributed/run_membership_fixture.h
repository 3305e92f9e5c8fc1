// Runs whose shards are processes that meet in a store, for tests over each kind of store.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/file_store_handler.h"
#include "distributed/run_membership.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {

// Over a directory and over Redis.
class RunMembershipTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "file") {
      stores_ = FileStores(directory_.path());
      return;
    }
    redis_ = std::make_unique<PrivateRedis>();
    REQUIRE_REDIS(*redis_);
    stores_ = RedisStores(redis_->options());
  }

  // Joins, calls body, leaves; in processes.
  std::vector<ShardResult> RunMembers(int count,
                                      const std::function<std::string(RunMembership*)>& body,
                                      const std::function<void(RunOptions*)>& change = {},
                                      double limit_seconds = 20) {
    return RunShards(
        count,
        [&](int shard) {
          RunOptions options = Options(count, shard);
          if (change) change(&options);
          auto run = RunMembership::Join(stores_, options);
          std::string result = body(run.get());
          run->Leave();
          return result;
        },
        limit_seconds);
  }

  // One shard may know earlier than another that all have joined. The last to go on is the one
  // that `waits`.
  static void NoteThatAllHaveJoined(RunMembership* run, bool waits) {
    const auto store = run->MakeStore();
    std::vector<std::string> keys;
    for (int shard = 0; shard < run->options().num_shards; ++shard) {
      keys.push_back(MakeString("knows/", shard));
    }
    store->Set(keys[static_cast<size_t>(run->options().shard_id)], "1");
    if (waits) store->Wait(keys, milliseconds(10000));
  }

  // The keys that a clean end must have removed.
  void ExpectNoKeys() {
    EXPECT_TRUE(directory_.Files().empty());
    auto store = stores_("run");
    for (const char* key :
         {"generation", "1/config", "1/ready", "1/leaving", "1/left/0", "1/member/0", "1/member/1",
          "1/heartbeat/0", "1/heartbeat/1", "1/member/2", "1/heartbeat/2", "1/world/2", "status/0",
          "status/1", "1/failure", "1/world/0"}) {
      EXPECT_FALSE(store->Check({key})) << key;
    }
  }

  TemporaryDirectory directory_;
  std::unique_ptr<PrivateRedis> redis_;
  StoreFactory stores_;
};

}  // namespace caffe2::testing
