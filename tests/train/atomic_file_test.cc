#include "train/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe2/core/logging.h"
#include "tests/db/temporary_directory.h"

namespace caffe2 {
namespace {

using testing::TemporaryDirectory;

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t FilesIn(const std::string& directory) {
  const auto entries = std::filesystem::directory_iterator(directory);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST(AtomicFileTest, ReplacesTheFileWhenPublished) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("model");
  WriteText(path, "old");
  AtomicFile file(path);
  WriteText(file.temporary_path(), "new");
  EXPECT_EQ(ReadText(path), "old");
  file.Publish();
  EXPECT_EQ(ReadText(path), "new");
  EXPECT_EQ(FilesIn(directory.Path(".")), 1u);
}

TEST(AtomicFileTest, LeavesNothingWhenNotPublished) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("model");
  WriteText(path, "old");
  {
    AtomicFile file(path);
    WriteText(file.temporary_path(), "half");
  }
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_EQ(FilesIn(directory.Path(".")), 1u);
}

TEST(AtomicFileTest, PublishingNothingIsAnError) {
  const TemporaryDirectory directory;
  AtomicFile file(directory.Path("model"));
  EXPECT_THROW(file.Publish(), IoError);
}

TEST(ChecksumTest, FindsAnyChangedOrMissingByte) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("model");
  WriteText(path, std::string(1000, 'x'));
  EXPECT_FALSE(HasChecksum(path));
  AppendChecksum(path);
  EXPECT_TRUE(HasChecksum(path));
  EXPECT_NO_THROW(VerifyChecksum(path));
  const std::string good = ReadText(path);
  for (const size_t at : {size_t{0}, size_t{500}, size_t{999}, good.size() - 1}) {
    std::string bad = good;
    bad[at] ^= 1;
    WriteText(path, bad);
    EXPECT_THROW(VerifyChecksum(path), IoError) << at;
  }
  for (const size_t size : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1}) {
    WriteText(path, good.substr(0, size));
    EXPECT_THROW(VerifyChecksum(path), IoError) << size;
  }
  EXPECT_THROW(VerifyChecksum(directory.Path("none")), IoError);
}

}  // namespace
}  // namespace caffe2
