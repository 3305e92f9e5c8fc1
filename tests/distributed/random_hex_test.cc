#include "distributed/random_hex.h"

#include <gtest/gtest.h>

#include <set>

namespace caffe2 {
namespace {

TEST(RandomHexTest, GivesTwoDigitsForEachByteAndNoTextTwice) {
  std::set<std::string> texts;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = RandomHex(8);
    EXPECT_EQ(text.size(), 16u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 1000u);
  EXPECT_EQ(RandomHex(0), "");
}

}  // namespace
}  // namespace caffe2
