#include "caffe2/utils/temporary_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "caffe2/utils/owned_fd.h"
#include "tests/db/temporary_directory.h"

namespace caffe2 {
namespace {

namespace fs = std::filesystem;

std::string ScopeAndPid() { return ".tmp." + PidScope() + "." + std::to_string(getpid()); }

class TemporaryFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  size_t Files() const {
    const auto entries = fs::directory_iterator(directory_.Path("."));
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(TemporaryFileTest, NamesAreNewAndEndInRandomDigits) {
  const std::string one = TemporaryPath(Path("a")), two = TemporaryPath(Path("a"));
  EXPECT_NE(one, two);
  for (const std::string& path : {one, two}) {
    const std::string known = Path("a") + ScopeAndPid() + ".";
    EXPECT_EQ(path.substr(0, known.size()), known);
    EXPECT_TRUE(std::regex_match(path.substr(known.size()), std::regex("[0-9a-f]{16}"))) << path;
    EXPECT_TRUE(IsTemporaryOf(path, PidScope(), getpid()));
  }
}

TEST_F(TemporaryFileTest, OneIsOfOneProcess) {
  EXPECT_TRUE(IsTemporaryOf("a.tmp.host.17.00112233aabbccdd", "host", 17));
  EXPECT_TRUE(IsTemporaryOf("a.tmp.host.17.0011.tmp.host.17.0022", "host", 17));
  EXPECT_FALSE(IsTemporaryOf("a.tmp.host.171.00112233aabbccdd", "host", 17));
  EXPECT_FALSE(IsTemporaryOf("a.tmp.other.17.00112233aabbccdd", "host", 17));
  EXPECT_FALSE(IsTemporaryOf("a", "host", 17));
}

TEST_F(TemporaryFileTest, RemovesWhatAnEarlierProcessOfTheSameIdLeft) {
  const std::string own = TemporaryPath(Path("a")), other = TemporaryPath(Path("b")),
                    earlier = Path("a") + ScopeAndPid() + ".0123456789abcdef";
  for (const std::string& path : {own, other, earlier}) std::ofstream(path) << "x";
  TemporaryPath(Path("a"));
  EXPECT_TRUE(fs::exists(own));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_FALSE(fs::exists(earlier));
}

TEST_F(TemporaryFileTest, ANewFileReplacesNothing) {
  std::ofstream(Path("file")) << "old";
  fs::create_symlink(Path("file"), Path("link"));
  fs::create_symlink(Path("none"), Path("dangling"));
  fs::create_directory(Path("folder"));
  for (const char* name : {"file", "link", "dangling", "folder"}) {
    EXPECT_LT(OwnedFd(CreateNewFile(Path(name), 0666)).get(), 0) << name;
    EXPECT_EQ(errno, EEXIST) << name;
  }
  EXPECT_EQ(fs::file_size(Path("file")), 3u);
  EXPECT_FALSE(fs::exists(Path("none")));
}

TEST_F(TemporaryFileTest, ANewFileHasThePermissionsOfTheUmask) {
  const mode_t before = umask(027);
  const OwnedFd file(CreateNewFile(Path("file"), 0666));
  umask(before);
  ASSERT_GE(file.get(), 0);
  EXPECT_EQ(write(file.get(), "abc", 3), 3);
  char read[3] = {};
  EXPECT_EQ(pread(file.get(), read, 3, 0), 3);
  struct stat status;
  ASSERT_EQ(fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(TemporaryFileTest, ErrorsNameTheFileItself) {
  const std::string path = TemporaryPath(Path("a")), twice = TemporaryPath(path);
  EXPECT_EQ(WithoutTemporaryNames("cannot write " + twice + "/1.log: full"),
            "cannot write " + Path("a") + "/1.log: full");
  EXPECT_EQ(WithoutTemporaryNames("of another: a.tmp.host.17.00112233aabbccdd"),
            "of another: a.tmp.host.17.00112233aabbccdd");
}

}  // namespace
}  // namespace caffe2
