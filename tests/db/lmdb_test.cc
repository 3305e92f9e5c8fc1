// Damaged LMDB files: an error that names the file, never a crash or a wrong number of records.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "caffe2/core/random.h"
#include "db/db.h"
#include "db/lmdb_file.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

constexpr size_t kPage = 4096;

class LmdbDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Small values, and some with pages of their own: leaf, branch and overflow pages.
    records_ = MakeRecords(2000, [](int i) {
      return std::string(i % 97 == 0 ? 9000 : 300, static_cast<char>('a' + i % 26));
    });
    WriteDB("lmdb", directory_.Path("db"), records_);
    file_ = directory_.Path("db/data.mdb");
    bytes_ = ReadFile(file_);
    ASSERT_GT(bytes_.size(), 100 * kPage);
  }
  // What opening and reading everything says; "" if nothing is wrong.
  std::string ErrorOf(const std::string& bytes) {
    WriteFile(file_, bytes);
    try {
      const Records found = ReadDB("lmdb", directory_.Path("db"));
      EXPECT_EQ(found.size(), records_.size()) << "silently another number of records";
      return "";
    } catch (const IoError& error) {
      return error.what();
    }
  }

  TemporaryDirectory directory_;
  Records records_;
  std::string file_, bytes_;
};

TEST_F(LmdbDamageTest, TruncatedFile) {
  EXPECT_EQ(ErrorOf(bytes_), "");
  for (const size_t size : {bytes_.size() - 1, bytes_.size() * 99 / 100, bytes_.size() * 60 / 100,
                            bytes_.size() / 100, kPage, size_t{3}, size_t{0}}) {
    const std::string error = ErrorOf(bytes_.substr(0, size));
    EXPECT_NE(error.find("truncated"), std::string::npos) << size << ": " << error;
    EXPECT_NE(error.find(file_), std::string::npos) << error;
  }
}

TEST_F(LmdbDamageTest, RandomDamageToPageHeadersAndEntries) {
  int found = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomGenerator random(seed);
    std::string bytes = bytes_;
    const size_t page = random.UniformInt(bytes.size() / kPage);
    // The header and the first entries' offsets, or an entry's header.
    const size_t within = random.UniformInt(seed % 2 ? 32 : kPage);
    bytes[page * kPage + within] ^= static_cast<char>(1 + random.UniformInt(255));
    found += !ErrorOf(bytes).empty();
  }
  EXPECT_GT(found, 100);
}

TEST_F(LmdbDamageTest, GarbledPages) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomGenerator random(seed);
    std::string bytes = bytes_;
    // Any page of the tree in use: the free ones are not read.
    const size_t page = seed < 2 ? seed : random.UniformInt(bytes.size() / kPage);
    for (size_t i = 0; i < 64; ++i) bytes[page * kPage + i] = static_cast<char>(random());
    ErrorOf(bytes);
  }
}

TEST_F(LmdbDamageTest, PagesThatPointInCircles) {
  // Every 8-byte aligned page number in the file becomes that of another page.
  const uint64_t pages = bytes_.size() / kPage;
  RandomGenerator random(1);
  for (int trial = 0; trial < 100; ++trial) {
    std::string bytes = bytes_;
    const uint64_t from = random.UniformInt(pages), to = random.UniformInt(pages);
    std::memcpy(&bytes[from * kPage], &bytes_[to * kPage], kPage);
    ErrorOf(bytes);
  }
}

TEST_F(LmdbDamageTest, FileThatShrinksWhileItIsReadGivesAnError) {
  db::LmdbFile file(file_);
  std::filesystem::resize_file(file_, bytes_.size() / 2);
  const std::string message = ThrownMessage<IoError>([&] {
    std::string key, value;
    for (int64_t i = 0; i < file.NumRecords(); ++i) file.Read(i, &key, &value);
  });
  EXPECT_NE(message.find("truncated"), std::string::npos) << message;
}

TEST_F(LmdbDamageTest, ReadsWithoutWritePermissionAndLockFile) {
  std::filesystem::remove(directory_.Path("db/lock.mdb"));
  std::filesystem::permissions(file_, std::filesystem::perms::owner_read);
  std::filesystem::permissions(directory_.Path("db"), std::filesystem::perms::owner_read |
                                                          std::filesystem::perms::owner_exec);
  EXPECT_EQ(ReadDB("lmdb", directory_.Path("db")).size(), records_.size());
  EXPECT_FALSE(std::filesystem::exists(directory_.Path("db/lock.mdb")));
  std::filesystem::permissions(directory_.Path("db"), std::filesystem::perms::owner_all);
}

TEST(Lmdb, EmptyDatabaseHasNoRecords) {
  TemporaryDirectory directory;
  WriteDB("lmdb", directory.Path("db"), {});
  EXPECT_TRUE(ReadDB("lmdb", directory.Path("db")).empty());
}

TEST(Lmdb, ManyTransactionsAndOverwrittenRecords) {
  TemporaryDirectory directory;
  auto database = db::CreateDB("lmdb", directory.Path("db"), db::NEW);
  auto transaction = database->NewTransaction();
  RandomGenerator random(3);
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 5000; ++i) {
    const std::string key = std::to_string(random.UniformInt(1500));
    const std::string value(random.UniformInt(6000), static_cast<char>('a' + i % 26));
    transaction->Put(key, value);
    expected[key] = value;
    if (i % 100 == 0) transaction->Commit();
  }
  transaction->Commit();
  const Records found = ReadDB("lmdb", directory.Path("db"));
  EXPECT_EQ(found, Records(expected.begin(), expected.end()));
}

TEST(Lmdb, FileOfAnotherKind) {
  TemporaryDirectory directory;
  WriteFile(directory.Path("text"), std::string(10000, 'x'));
  const std::string message =
      ThrownMessage<IoError>([&] { ReadDB("lmdb", directory.Path("text")); });
  EXPECT_NE(message.find("not an LMDB database"), std::string::npos) << message;
}

}  // namespace
}  // namespace caffe2::testing
