// Damaged LMDB files: an error that names the file, never a crash or a wrong number of records.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
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
  // What opening and reading everything says: an error that names the database, or "" and then all
  // keys are there. Damage to values alone cannot be seen: LMDB keeps no checksums.
  std::string ErrorOf(const std::string& bytes) {
    WriteFile(file_, bytes);
    try {
      EXPECT_EQ(KeysOf(ReadDB("lmdb", directory_.Path("db"))), KeysOf(records_));
      return "";
    } catch (const IoError& error) {
      EXPECT_NE(std::string(error.what()).find(directory_.Path("db")), std::string::npos)
          << error.what();
      return error.what();
    }
  }
  static std::vector<std::string> KeysOf(const Records& records) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : records) keys.push_back(key);
    return keys;
  }
  // The pages of the tree that reading visits: branches, leaves and first overflow pages.
  std::vector<size_t> TreePages() {
    std::vector<size_t> pages;
    for (size_t page = 2; page < bytes_.size() / kPage; ++page) {
      std::string bytes = bytes_;
      bytes[page * kPage] ^= 1;  // another page's number
      if (!ErrorOf(bytes).empty()) pages.push_back(page);
    }
    return pages;
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
  std::vector<size_t> pages = TreePages();
  ASSERT_GT(pages.size(), 100u);
  pages.insert(pages.begin(), {0, 1});  // the headers
  RandomGenerator random(1);
  for (size_t trial = 0; trial < 60; ++trial) {
    std::string bytes = bytes_;
    const size_t page = trial < 2 ? trial : pages[random.UniformInt(pages.size())];
    for (size_t i = 0; i < 64; ++i) bytes[page * kPage + i] = static_cast<char>(random());
    EXPECT_NE(ErrorOf(bytes), "") << "page " << page;
  }
}

// A page that holds what belongs to another one, under its own number: branches then point in
// circles, leaves repeat keys.
TEST_F(LmdbDamageTest, PagesThatRepeatOthers) {
  std::vector<size_t> pages = TreePages();
  pages.erase(std::remove_if(pages.begin(), pages.end(),
                             [this](size_t page) {
                               constexpr char kBranchOrLeaf = 3;
                               return (bytes_[page * kPage + 10] & kBranchOrLeaf) == 0;
                             }),
              pages.end());
  ASSERT_GT(pages.size(), 100u);
  RandomGenerator random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const size_t from = pages[random.UniformInt(pages.size())];
    const size_t to = pages[random.UniformInt(pages.size())];
    if (from == to) continue;
    std::string bytes = bytes_;
    std::memcpy(&bytes[to * kPage + 8], &bytes_[from * kPage + 8], kPage - 8);
    EXPECT_NE(ErrorOf(bytes), "") << "page " << to << " holds page " << from;
  }
}

TEST(LmdbHostileTest, ABranchPageThatIsItsOwnChildIsNoLeaf) {
  const TemporaryDirectory directory;
  WriteDB("lmdb", directory.Path("db"), {{"key", "value"}});
  const std::string file = directory.Path("db/data.mdb");
  std::string bytes = ReadFile(file);
  const auto store = [&](size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof value); };
  uint64_t root = 0;
  for (const size_t meta : {size_t{0}, kPage}) {
    const size_t tree = meta + 16 + 24 + 48;  // after the header, the sizes and the free pages
    uint64_t found = 0;
    std::memcpy(&found, &bytes[tree + 40], sizeof found);
    if (found == ~uint64_t{0}) continue;  // the empty database
    root = found;
    store(tree + 6, uint16_t{2});  // depth
    store(tree + 8, uint64_t{1});  // branch pages
  }
  const size_t page = root * kPage, entry = kPage - 12;  // a header of 8 bytes and "key", even
  bytes.replace(page + 10, kPage - 10, kPage - 10, '\0');
  store(page + 10, uint16_t{1});  // a branch page
  store(page + 12, uint16_t{18});
  store(page + 14, static_cast<uint16_t>(entry));
  store(page + 16, static_cast<uint16_t>(entry));
  store(page + entry, static_cast<uint32_t>(root));
  store(page + entry + 6, uint16_t{3});
  bytes.replace(page + entry + 8, 3, "key");
  WriteFile(file, bytes);
  const std::string message = ThrownMessage<IoError>([&] { db::LmdbFile opened(file); });
  EXPECT_NE(message.find("leaf page is expected"), std::string::npos) << message;
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

TEST(Lmdb, ASecondTransactionDoesNotWaitForTheFirst) {
  TemporaryDirectory directory;
  const auto database = db::CreateDB("lmdb", directory.Path("db"), db::NEW);
  auto first = database->NewTransaction();
  const auto second = database->NewTransaction();
  first->Put("a", "1");
  EXPECT_THROW(second->Put("b", "2"), EnforceNotMet);
  first.reset();  // drops its record
  second->Put("b", "2");
  second->Commit();
  const auto third = database->NewTransaction();
  third->Put("c", "3");
  third->Commit();
  EXPECT_EQ(database->NewIndex()->NumRecords(), 2);
}

TEST(Lmdb, FileOfAnotherKind) {
  TemporaryDirectory directory;
  WriteFile(directory.Path("text"), std::string(10000, 'x'));
  const std::string message =
      ThrownMessage<IoError>([&] { ReadDB("lmdb", directory.Path("text")); });
  EXPECT_NE(
      message.find("not an LMDB database: it begins with \"xxxxxxxx\" and has no LMDB header"),
      std::string::npos)
      << message;
  // Shorter than the header of a database.
  WriteFile(directory.Path("archive"), std::string("PK\x03\x04\x00z", 6));
  const std::string short_message =
      ThrownMessage<IoError>([&] { ReadDB("lmdb", directory.Path("archive")); });
  EXPECT_NE(short_message.find("not an LMDB database: it begins with \"PK\\x03\\x04\\x00z\" and"),
            std::string::npos)
      << short_message;
}

// No process has written it meanwhile, whatever the damaged pages say.
TEST(Lmdb, ADamagedHeaderIsNoWriter) {
  TemporaryDirectory directory;
  WriteDB("lmdb", directory.Path("db"), MakeRecords(10, [](int i) { return std::to_string(i); }));
  const std::string whole = ReadFile(directory.Path("db/data.mdb"));
  for (const size_t at : {0, 10, 16 + 24, 4096, 4096 + 10, 4096 + 16}) {
    std::string damaged = whole;
    damaged[at] ^= 0x08;
    WriteFile(directory.Path("db/data.mdb"), damaged);
    const std::string message =
        ThrownMessage<IoError>([&] { ReadDB("lmdb", directory.Path("db")); });
    EXPECT_NE(message.find("is damaged: page "), std::string::npos) << at << ": " << message;
  }
}

// As in jobs of clusters that limit it; LMDB maps as much as a database may become.
TEST(LmdbTest, WritesWithLittleAddressSpace) {
  const TemporaryDirectory directory;
  const Records records = MakeRecords(10, [](int i) { return std::to_string(i); });
  const auto write = [&] {
    const rlimit limit{rlim_t{40} << 30, rlim_t{40} << 30};
    setrlimit(RLIMIT_AS, &limit);
    WriteDB("lmdb", directory.Path("db"), records);
    std::_Exit(ReadDB("lmdb", directory.Path("db")) == records ? 0 : 1);
  };
  EXPECT_EXIT(write(), ::testing::ExitedWithCode(0), "can grow to 16 GiB.*ulimit -v");
}

}  // namespace
}  // namespace caffe2::testing
