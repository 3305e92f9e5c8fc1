#include "train/shard_speeds.h"

#include <gtest/gtest.h>

namespace caffe2 {
namespace {

TEST(ShardSpeedsTest, AddsUpUntilTheyAreTaken) {
  ShardSpeeds speeds;
  speeds.Add({{.iterations = 1, .all = 2, .input = 0.5, .exchanging = 0.25}, {.all = 1}});
  speeds.Add({{.iterations = 3, .all = 6, .input = 1.5, .exchanging = 0.75},
              {.iterations = 2, .all = 3, .exchanging = 1}});
  const std::vector<ShardSpeed> taken = speeds.Take(16);
  ASSERT_EQ(taken.size(), 2);
  EXPECT_EQ(taken[0].images_per_second, 8);
  EXPECT_EQ(taken[0].input_wait, 0.25);
  EXPECT_EQ(taken[0].exchanging, 0.125);
  EXPECT_EQ(taken[1].images_per_second, 8);
  EXPECT_EQ(taken[1].input_wait, 0);
  EXPECT_EQ(taken[1].exchanging, 0.25);
  EXPECT_TRUE(speeds.Take(16).empty());
}

TEST(ShardSpeedsTest, AreUnknownForOneShardAndWithoutTime) {
  ShardSpeeds speeds;
  speeds.Add({{.iterations = 1, .all = 2}});
  EXPECT_TRUE(speeds.Take(16).empty());
  speeds.Add({{.iterations = 1, .all = 2}, {}});
  EXPECT_TRUE(speeds.Take(16).empty());
}

}  // namespace
}  // namespace caffe2
