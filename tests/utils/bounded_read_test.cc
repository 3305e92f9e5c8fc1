#include "caffe2/utils/bounded_read.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

std::string BoundedErrorOf(int64_t max_bytes, std::istream* stream) {
  try {
    ReadAtMost(max_bytes, "the file", stream);
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BoundedReadTest, ReadsUpToTheLimit) {
  const std::string text = std::string((1 << 20) - 1, 'a') + "bc" + std::string(1 << 20, 'd');
  const auto size = static_cast<int64_t>(text.size());
  for (const int64_t limit : {size, size + 1, 10 * size}) {
    std::istringstream stream(text);
    EXPECT_EQ(ReadAtMost(limit, "the file", &stream), text) << limit;
  }
  std::istringstream empty("");
  EXPECT_EQ(ReadAtMost(0, "the file", &empty), "");
  std::istringstream stream(text);
  EXPECT_NE(BoundedErrorOf(size - 1, &stream).find("the file has more than"), std::string::npos);
}

TEST(BoundedReadTest, EndsAtADeviceWithoutEnd) {
  std::ifstream zeros("/dev/zero", std::ios::binary);
  EXPECT_NE(BoundedErrorOf(5'000'000, &zeros).find("the file has more than 5000000 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace caffe2
