#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "caffe2/utils/temporary_file.h"
#include "db/db.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

TEST(MiniDB, BytesAreCaffes) {
  TemporaryDirectory directory;
  WriteDB("minidb", directory.Path("db"), {{"key", "value"}, {"key", "v"}});
  const std::string expected("\3\0\0\0\5\0\0\0keyvalue\3\0\0\0\1\0\0\0keyv", 28);
  EXPECT_EQ(ReadFile(directory.Path("db")), expected);
}

TEST(MiniDB, TruncatedFileIsAnErrorAtOpening) {
  TemporaryDirectory directory;
  WriteDB("minidb", directory.Path("db"), MakeRecords(20, [](int) { return "value"; }));
  const std::string bytes = ReadFile(directory.Path("db"));
  const size_t record = bytes.size() / 20;
  for (size_t size = bytes.size() - 1; size > bytes.size() - 2 * record; --size) {
    if (size % record == 0) continue;  // a whole number of records cannot be told from a short file
    WriteFile(directory.Path("db"), bytes.substr(0, size));
    auto database = db::CreateDB("minidb", directory.Path("db"), db::READ);
    const std::string message = ThrownMessage<IoError>([&] { database->NewIndex(); });
    EXPECT_NE(message.find("truncated"), std::string::npos) << message;
  }
}

TEST(MiniDB, BadLengthsAreErrors) {
  TemporaryDirectory directory;
  for (const auto& lengths : std::vector<std::pair<int32_t, int32_t>>{
           {-1, 5}, {5, -1}, {0, 5}, {0x7fffffff, 0x7fffffff}, {5, 0x7fffffff}}) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &lengths.first, 4);
    std::memcpy(bytes.data() + 4, &lengths.second, 4);
    WriteFile(directory.Path("db"), bytes + "0123456789");
    EXPECT_THROW(ReadDB("minidb", directory.Path("db")), IoError) << lengths.first;
  }
}

TEST(MiniDB, ANewFileAppearsWithCloseOnly) {
  TemporaryDirectory directory;
  WriteFile(directory.Path("db"), "old");
  {
    auto database = db::CreateDB("minidb", directory.Path("db"), db::NEW);
    auto transaction = database->NewTransaction();
    transaction->Put("key", "value");
    transaction->Commit();
    EXPECT_EQ(ReadFile(directory.Path("db")), "old");
  }
  EXPECT_EQ(ReadFile(directory.Path("db")), "old");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(directory.Path("db")).parent_path()))
    ++files;
  EXPECT_EQ(files, 1) << "a temporary file is left";
}

TEST(MiniDB, ANewFileFollowsNoLinkThatAwaitsIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("db"), precious = directory.Path("precious");
  WriteFile(precious, "precious");
  std::filesystem::create_symlink(precious, MakeString(path, ".tmp.", PidScope(), ".", getpid()));
  auto database = db::CreateDB("minidb", path, db::NEW);
  auto transaction = database->NewTransaction();
  transaction->Put("key", "value");
  transaction->Commit();
  database->Close();
  EXPECT_EQ(ReadFile(precious), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

TEST(MiniDB, FullDiskIsAnErrorWithThePath) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const std::string message = ThrownMessage<IoError>([] {
    auto database = db::CreateDB("minidb", "/dev/full", db::WRITE);
    auto transaction = database->NewTransaction();
    transaction->Put("key", "value");
    transaction->Commit();
  });
  EXPECT_NE(message.find("/dev/full"), std::string::npos) << message;
  EXPECT_NE(message.find("No space"), std::string::npos) << message;
}

}  // namespace
}  // namespace caffe2::testing
