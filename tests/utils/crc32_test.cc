#include "caffe2/utils/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace caffe2 {
namespace {

TEST(Crc32Test, MatchesTheStandardCheckValue) {
  EXPECT_EQ(Crc32("123456789", 9), 0xcbf43926u);
  EXPECT_EQ(Crc32("", 0), 0u);
}

TEST(Crc32Test, CastagnoliMatchesTheVectorsOfRfc3720) {
  const std::string zeros(32, '\0'), ones(32, '\xff');
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(Crc32c(zeros.data(), zeros.size()), 0x8a9136aau);
  EXPECT_EQ(Crc32c(ones.data(), ones.size()), 0x62a8ab43u);
}

TEST(Crc32Test, ContinuesOverPartsOfAnyLength) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  const uint32_t whole = Crc32(text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32(text.data() + cut, text.size() - cut, Crc32(text.data(), cut)), whole) << cut;
  }
}

}  // namespace
}  // namespace caffe2
