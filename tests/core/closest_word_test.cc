#include "caffe2/core/closest_word.h"

#include <gtest/gtest.h>

namespace caffe2 {
namespace {

TEST(ClosestWordTest, Distances) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("run", "rnu"), 1);  // two letters swapped
}

TEST(ClosestWordTest, SuggestsOnlyWhatIsClose) {
  const std::vector<std::string> known = {"max_restarts", "min_shards", "run"};
  EXPECT_EQ(ClosestWord("max_restart", known), "max_restarts");
  EXPECT_EQ(ClosestWord("min_shard", known), "min_shards");
  EXPECT_EQ(ClosestWord("rnu", known), "run");
  EXPECT_EQ(ClosestWord("batch_size", known), "");
  EXPECT_EQ(ClosestWord("x", known), "");
  EXPECT_EQ(ClosestWord("run", {}), "");
}

}  // namespace
}  // namespace caffe2
