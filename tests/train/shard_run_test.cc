#include "train/shard_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/db/temporary_directory.h"

namespace caffe2 {
namespace {

// Shard 0 gives its string `late` after the others ask; returns what shard 1 gets, or its error.
std::string TextOfALateShard(std::chrono::milliseconds late,
                             std::vector<std::string> (ShardRun::*gather)(const std::string&)) {
  const testing::TemporaryDirectory directory;
  std::string result;
  std::vector<std::thread> shards;
  std::atomic<bool> over{false};
  for (int shard = 0; shard < 2; ++shard) {
    shards.emplace_back([&, shard] {
      TrainOptions options;
      options.shards.num_shards = 2;
      options.shards.shard_id = shard;
      options.shards.run_id = "run";
      options.shards.file_store_path = directory.Path(".");
      options.shards.rendezvous_timeout = 60;
      options.shards.collective_timeout = 3;
      try {
        Workspace ws;
        ShardRun run(options, &ws);
        if (shard == 0) {
          for (auto slept = late * 0; slept < late && !over; slept += late / 100) {
            std::this_thread::sleep_for(late / 100);
          }
        }
        const std::string text = (run.*gather)(shard == 0 ? "text" : "").at(0);
        if (shard == 1) result = text;
        run.Leave();
      } catch (const std::exception& error) {
        if (shard == 1) result = error.what();
      }
      if (shard == 1) over = true;
    });
  }
  for (std::thread& shard : shards) shard.join();
  return result;
}

TEST(ShardRunTest, OnlyALateExchangeWaitsLongerThanOthersMayTake) {
  EXPECT_EQ(TextOfALateShard(std::chrono::milliseconds(5000), &ShardRun::GatherWithLongTimeout),
            "text");
  const std::string error = TextOfALateShard(std::chrono::milliseconds(60000), &ShardRun::Gather);
  EXPECT_NE(error.find("3000 ms"), std::string::npos) << error;
}

}  // namespace
}  // namespace caffe2
