#include "train/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "caffe2/core/logging.h"
#include "caffe2/utils/temporary_file.h"
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
  AtomicFile file({path});
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
    AtomicFile file({path});
    WriteText(file.temporary_path(), "half");
  }
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_EQ(FilesIn(directory.Path(".")), 1u);
}

TEST(AtomicFileTest, ChecksPathsBeforeTheyAreWritten) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("page");
  CheckCanWrite(path);
  EXPECT_EQ(FilesIn(directory.Path(".")), 0u);
  WriteText(path, "old");
  CheckCanWrite(path);
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_EQ(FilesIn(directory.Path(".")), 1u);
  EXPECT_THROW(CheckCanWrite(directory.Path("none/page")), IoError);
  EXPECT_THROW(CheckCanWrite(directory.Path(".")), IoError);
}

// A process that is killed while it writes leaves its file to the next one.
TEST(FollowLinksTest, FindsTheFileOrKeepsThePath) {
  namespace fs = std::filesystem;
  const testing::TemporaryDirectory directory;
  fs::create_directory(directory.Path("disk"));
  fs::create_symlink("disk/file", directory.Path("relative"));
  fs::create_symlink(directory.Path("relative"), directory.Path("absolute"));
  fs::create_symlink("circle", directory.Path("circle"));
  const std::string file = directory.Path("disk/file");
  EXPECT_EQ(FollowLinks(file), file);  // there is no such file yet
  EXPECT_EQ(FollowLinks(directory.Path("relative")), file);
  EXPECT_EQ(FollowLinks(directory.Path("absolute")), file);
  EXPECT_EQ(FollowLinks(directory.Path("circle")), directory.Path("circle"));
  EXPECT_EQ(FollowLinks("file"), "file");
}

TEST(FollowLinksTest, FollowsNoLinkOfAnotherUserInASharedFolder) {
  namespace fs = std::filesystem;
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link to another user";
  constexpr uid_t kOther = 12345;
  const testing::TemporaryDirectory directory;
  const std::string link = directory.Path("shared/link"), file = directory.Path("file");
  fs::create_directory(directory.Path("shared"));
  WriteText(file, "precious");
  fs::create_symlink(file, link);
  ASSERT_EQ(lchown(link.c_str(), kOther, kOther), 0);
  EXPECT_EQ(FollowLinks(link), file) << "the folder is not shared";
  fs::permissions(directory.Path("shared"), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(FollowLinks(link), link);
  WriteWholeFile(link, "new");
  EXPECT_EQ(ReadText(file), "precious");
  fs::remove(link);
  fs::create_symlink(file, link);
  EXPECT_EQ(FollowLinks(link), file) << "one's own link";
}

TEST(AtomicFileTest, RemovesWhatDeadProcessesLeft) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("model");
  const pid_t child = fork();
  if (child == 0) {
    const AtomicFile file({path});
    WriteText(file.temporary_path(), "half");
    WriteText(file.temporary_path() + ".tmp", "half");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(FilesIn(directory.Path(".")), 2u);
  const std::string of_another = AtomicFile({directory.Path("model_2")}).temporary_path();
  WriteText(of_another, "kept");
  const std::string of_another_host = path + ".tmp.elsewhere.4194305";
  WriteText(of_another_host, "kept");
  AtomicFile file({path});
  EXPECT_EQ(FilesIn(directory.Path(".")), 2u);
  WriteText(file.temporary_path(), "new");
  file.Publish();
  EXPECT_EQ(ReadText(of_another), "kept");
  EXPECT_EQ(ReadText(of_another_host), "kept");
}

TEST(AtomicFileTest, FollowsNoLinkThatAwaitsIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("page"), precious = directory.Path("precious");
  WriteText(precious, "precious");
  const std::string known = MakeString(path, ".tmp.", PidScope(), ".", getpid());
  std::filesystem::create_symlink(precious, known);
  CheckCanWrite(path);
  WriteWholeFile(path, "new");
  EXPECT_EQ(ReadText(precious), "precious");
  EXPECT_EQ(ReadText(path), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

TEST(AtomicFileTest, PublishingNothingIsAnError) {
  const TemporaryDirectory directory;
  AtomicFile file({directory.Path("model")});
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
