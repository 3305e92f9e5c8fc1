// What holds for every type of database.
#include "db/db.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

class DBTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Path() const { return directory_.Path("db"); }
  TemporaryDirectory directory_;
};

// Short, empty-free, page-sized and far larger values.
std::string ValueOf(int i) {
  const size_t sizes[] = {1, 17, 784, 2030, 2040, 4080, 4096, 70000};
  return std::string(sizes[i % 8], static_cast<char>('a' + i % 26)) + std::to_string(i);
}

TEST_P(DBTest, ReadsWhatWasWrittenInOrder) {
  const Records records = MakeRecords(500, ValueOf);
  WriteDB(GetParam(), Path(), records);
  EXPECT_EQ(ReadDB(GetParam(), Path()), records);
}

TEST_P(DBTest, IndexReadsAnyRecord) {
  const Records records = MakeRecords(300, ValueOf);
  WriteDB(GetParam(), Path(), records);
  auto database = db::CreateDB(GetParam(), Path(), db::READ);
  auto index = database->NewIndex();
  ASSERT_EQ(index->NumRecords(), 300);
  for (int i : {299, 0, 1, 2, 150, 149, 151, 298, 20, 19, 0}) {
    std::string key, value;
    index->Read(i, &key, &value);
    EXPECT_EQ(key, records[i].first);
    EXPECT_EQ(value, records[i].second);
  }
}

TEST_P(DBTest, MayBeOpenedAgainToBeRead) {
  const Records records = MakeRecords(30, ValueOf);
  WriteDB(GetParam(), Path(), records);
  auto first = db::CreateDB(GetParam(), Path(), db::READ);
  auto second = db::CreateDB(GetParam(), Path(), db::READ);
  EXPECT_EQ(first->NewCursor()->key(), second->NewCursor()->key());
  first->Close();
  EXPECT_EQ(second->NewCursor()->value(), records[0].second);
  second->Close();
  db::CreateDB(GetParam(), Path(), db::WRITE)->Close();
  EXPECT_EQ(ReadDB(GetParam(), Path()), records);
}

TEST_P(DBTest, WriteAddsRecords) {
  Records records = MakeRecords(40, ValueOf);
  WriteDB(GetParam(), Path(), {records.begin(), records.begin() + 25});
  auto database = db::CreateDB(GetParam(), Path(), db::WRITE);
  auto transaction = database->NewTransaction();
  for (int i = 25; i < 40; ++i) {
    transaction->Put(records[i].first, records[i].second);
    if (i % 5 == 0) transaction->Commit();
  }
  transaction->Commit();
  transaction.reset();
  database->Close();
  EXPECT_EQ(ReadDB(GetParam(), Path()), records);
}

TEST_P(DBTest, UncommittedRecordsAreDropped) {
  const Records records = MakeRecords(3, ValueOf);
  auto database = db::CreateDB(GetParam(), Path(), db::NEW);
  {
    auto transaction = database->NewTransaction();
    transaction->Put(records[0].first, records[0].second);
    transaction->Commit();
    transaction->Put(records[1].first, records[1].second);
  }
  database->Close();
  EXPECT_EQ(ReadDB(GetParam(), Path()), Records({records[0]}));
}

TEST_P(DBTest, SeekGoesToTheKeyOrTheNext) {
  const Records records = MakeRecords(100, ValueOf);
  WriteDB(GetParam(), Path(), records);
  auto database = db::CreateDB(GetParam(), Path(), db::READ);
  auto cursor = database->NewCursor();
  if (!cursor->SupportsSeek()) {
    EXPECT_NE(ThrownMessage<EnforceNotMet>([&] { cursor->Seek("00000042"); }).find("not sorted"),
              std::string::npos);
    return;
  }
  cursor->Seek("00000042");
  ASSERT_TRUE(cursor->Valid());
  EXPECT_EQ(cursor->key(), "00000042");
  EXPECT_EQ(cursor->value(), ValueOf(42));
  cursor->Next();
  EXPECT_EQ(cursor->key(), "00000043");
  cursor->Seek("000000425");
  EXPECT_EQ(cursor->key(), "00000043");
  cursor->Seek("1");
  EXPECT_FALSE(cursor->Valid());
  cursor->SeekToFirst();
  EXPECT_EQ(cursor->key(), "00000000");
}

TEST_P(DBTest, MissingDatabaseIsAnErrorWithThePath) {
  const std::string message =
      ThrownMessage<IoError>([&] { db::CreateDB(GetParam(), Path(), db::READ); });
  EXPECT_NE(message.find(Path()), std::string::npos) << message;
  EXPECT_FALSE(db::DBExists(GetParam(), Path()));
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_P(DBTest, APathEndsAtNoZeroByte) {
  const std::string path = directory_.Path("db");
  EXPECT_THROW(db::CreateDB(GetParam(), path + std::string("\0rest", 5), db::NEW), EnforceNotMet);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(DBTest, UnwritablePlaceIsAnErrorWithThePath) {
  WriteFile(directory_.Path("file"), "x");
  const std::string path = directory_.Path("file/db");
  for (const db::Mode mode : {db::NEW, db::WRITE}) {
    const std::string message =
        ThrownMessage<IoError>([&] { db::CreateDB(GetParam(), path, mode); });
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
}

TEST_P(DBTest, AnotherTypeIsNamed) {
  for (const std::string other : {"lmdb", "leveldb", "minidb"}) {
    if (other == GetParam()) continue;
    const std::string path = directory_.Path(other);
    WriteDB(other, path, MakeRecords(5, ValueOf));
    EXPECT_EQ(db::GuessDBType(path), other);
    const std::string message = ThrownMessage<IoError>([&] {
      auto database = db::CreateDB(GetParam(), path, db::READ);
      database->NewIndex();
    });
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
}

TEST_P(DBTest, ReadOnlyDatabaseRefusesATransaction) {
  WriteDB(GetParam(), Path(), MakeRecords(5, ValueOf));
  auto database = db::CreateDB(GetParam(), Path(), db::READ);
  EXPECT_THROW(database->NewTransaction(), EnforceNotMet);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, DBTest, ::testing::Values("lmdb", "leveldb", "minidb"),
                         [](const auto& info) { return info.param; });

TEST(DB, CaffesSpellingsAreKnown) {
  for (const std::string type : {"LMDB", "LevelDB", "MiniDB"}) {
    EXPECT_TRUE(db::DBRegistry().Has(type)) << type;
  }
  const std::string message =
      ThrownMessage<EnforceNotMet>([] { db::CreateDB("rocks", "x", db::READ); });
  EXPECT_NE(message.find("rocks"), std::string::npos) << message;
  EXPECT_NE(message.find("lmdb"), std::string::npos) << message;
}

}  // namespace
}  // namespace caffe2::testing
