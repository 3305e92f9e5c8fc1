#include "caffe2/utils/hash64.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace caffe2 {
namespace {

uint64_t HashOf(const std::string& text, uint64_t seed = 0) {
  return Hash64(text.data(), text.size(), seed);
}

// Values of the reference implementation (xxHash 0.8).
TEST(Hash64Test, HashesAsXxh64) {
  EXPECT_EQ(HashOf(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(HashOf("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(HashOf("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(HashOf("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(Hash64Test, SignsOfTwoFloatsDoNotCancelOut) {
  std::vector<float> values(1000, 1.5f);
  const auto hash = [&] { return Hash64(values.data(), values.size() * sizeof(float)); };
  std::set<uint64_t> hashes = {hash()};
  for (const size_t other : {1, 2, 7, 8, 9, 16, 64, 999}) {
    values[0] = values[other] = -1.5f;
    EXPECT_TRUE(hashes.insert(hash()).second) << other;
    values[0] = values[other] = 1.5f;
  }
}

}  // namespace
}  // namespace caffe2
