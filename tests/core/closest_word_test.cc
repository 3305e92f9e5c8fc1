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

TEST(ClosestWordTest, SuggestsTheShortestWordThatBeginsLikeIt) {
  const std::vector<std::string> known = {"log_histograms_every", "log_histograms_every_2", "logs"};
  EXPECT_EQ(ClosestWord("log_histograms", known), "log_histograms_every");
  EXPECT_EQ(ClosestWord("log_h", known), "log_histograms_every");
  EXPECT_EQ(ClosestWord("log_", known), "logs");                      // close
  EXPECT_EQ(ClosestWord("log_x", {"log_xyzabc", "log_y"}), "log_y");  // close before beginning
  EXPECT_EQ(ClosestWord("hist", {"histograms"}), "");
}

}  // namespace
}  // namespace caffe2
