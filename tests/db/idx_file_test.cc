#include "db/idx_file.h"

#include <gtest/gtest.h>

#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

TEST(IdxFile, ReadsDimsAndBytes) {
  TemporaryDirectory directory;
  const std::string path = directory.Path("images");
  WriteFile(path, std::string("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3abcdef", 22));
  const db::IdxFile file = db::ReadIdxFile(path);
  EXPECT_EQ(file.dims, std::vector<int64_t>({2, 1, 3}));
  EXPECT_EQ(file.data, "abcdef");
}

TEST(IdxFile, WhatIsNoIdxFileOrTruncatedIsAnError) {
  TemporaryDirectory directory;
  const std::string path = directory.Path("images");
  EXPECT_NE(ThrownMessage<IoError>([&] { db::ReadIdxFile(path); }).find(path), std::string::npos);
  for (const std::string& bytes :
       {std::string(), std::string("text file"), std::string("\0\0\x0d\1\0\0\0\1", 8),
        std::string("\0\0\x08\3\0\0", 6), std::string("\0\0\x08\1\0\0\0\3ab", 10),
        std::string("\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff", 12)}) {
    WriteFile(path, bytes);
    EXPECT_THROW(db::ReadIdxFile(path), IoError) << bytes;
  }
}

}  // namespace
}  // namespace caffe2::testing
