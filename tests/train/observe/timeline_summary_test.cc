#include "train/observe/timeline_summary.h"

#include <gtest/gtest.h>

namespace caffe2 {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(TimelineSummaryTest, SumsByTypeAndName) {
  ShardTimeline shard;
  shard.Add("operator", "Conv conv2", 12 * kMs, 20 * kMs);
  shard.Add("operator", "Conv conv1", 10 * kMs, 12 * kMs);
  shard.Add("operator", "net train", 10 * kMs, 40 * kMs);
  shard.Add("exchange", "Allreduce bucket_1", 20 * kMs, 25 * kMs);
  shard.Add("input", "wait for a batch", 0, kMs);
  shard.Add("iteration", "iteration 12", 60 * kMs, 110 * kMs);
  shard.Add("iteration", "iteration 11", 10 * kMs, 50 * kMs);
  EXPECT_EQ(shard.Json(),
            R"({"iterations": 2, "seconds": 0.1, "parts": [)"
            R"({"category": "exchange", "name": "Allreduce", "count": 1, "seconds": 0.005},)"
            R"({"category": "input", "name": "wait for a batch", "count": 1, "seconds": 0.001},)"
            R"({"category": "operator", "name": "Conv", "count": 2, "seconds": 0.01}]})");
}

TEST(TimelineSummaryTest, HasAShardEach) {
  EXPECT_EQ(TimelineSummaryJson("a/out.json", 3, 4, {ShardTimeline(), ShardTimeline()}),
            R"({"trace": "a/out.json", "first": 3, "last": 4, "shards": [)"
            R"({"iterations": 0, "seconds": 0, "parts": []},)"
            R"({"iterations": 0, "seconds": 0, "parts": []}]})");
}

}  // namespace
}  // namespace caffe2
