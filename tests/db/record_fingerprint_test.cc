#include "db/record_fingerprint.h"

#include <gtest/gtest.h>

#include "caffe2/utils/crc32.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

class RecordFingerprintTest : public ::testing::Test {
 protected:
  std::string Of(const std::string& db_type, const Records& records,
                 size_t max_whole_bytes = db::kMaxWholeBytes) {
    const std::string path = directory_.Path(MakeString("db", ++made_));
    WriteDB(db_type, path, records);
    const auto database = db::CreateDB(db_type, path, db::READ);
    return db::RecordFingerprint(database->NewIndex().get(), max_whole_bytes);
  }

  TemporaryDirectory directory_;
  int made_ = 0;
};

TEST_F(RecordFingerprintTest, CountsAndSumsUpFewRecords) {
  const std::string all = "00000000a00000001bb";
  EXPECT_EQ(Of("minidb", {{"00000000", "a"}, {"00000001", "bb"}}),
            MakeString("2 records (all: 19 bytes, CRC-32 ", std::hex, Crc32(all.data(), all.size()),
                       ")"));
  EXPECT_EQ(Of("minidb", {{"k", "v"}}).substr(0, 28), "1 records (all: 2 bytes, CRC");
}

TEST_F(RecordFingerprintTest, TellsRecordsApartWhateverTheTypeOfTheDatabase) {
  const auto same = [](int i) { return std::to_string(i); };
  const std::string expected = Of("lmdb", MakeRecords(1000, same));
  for (const char* type : {"leveldb", "minidb"}) {
    EXPECT_EQ(Of(type, MakeRecords(1000, same)), expected) << type;
  }
  EXPECT_NE(Of("minidb", MakeRecords(999, same)), expected);
  EXPECT_NE(Of("minidb", MakeRecords(1000, [](int i) { return std::to_string(i + 1); })), expected);
  Records last = MakeRecords(1000, same);
  last.back().second = "x";
  EXPECT_NE(Of("minidb", last), expected);
}

// MakeRecords has keys of 8 bytes.
TEST_F(RecordFingerprintTest, ReadsSmallDatabasesWhole) {
  const Records records = MakeRecords(1000, [](int) { return "12"; });
  Records changed = records;
  changed[500].second = "13";  // no sample
  EXPECT_EQ(Of("lmdb", records).find("1000 records (all: 10000 bytes, CRC-32 "), 0u);
  for (const char* type : {"lmdb", "leveldb", "minidb"}) {
    EXPECT_NE(Of(type, changed), Of(type, records)) << type;
    EXPECT_NE(Of(type, changed, 10000), Of(type, records, 10000)) << type;
    EXPECT_EQ(Of(type, changed, 9999), Of(type, records, 9999)) << type;
  }
  EXPECT_EQ(Of("lmdb", records, 9999).find("1000 records (64 sampled: 640 bytes, CRC-32 "), 0u);
}

TEST_F(RecordFingerprintTest, StopsReadingRecordsThatAreLargerThanTheSamples) {
  Records records = MakeRecords(1000, [](int) { return "12"; });
  records[500].second = std::string(10000, 'x');  // no sample
  EXPECT_EQ(Of("lmdb", records, 15000).find("1000 records (64 sampled: 640 bytes, CRC-32 "), 0u);
  EXPECT_EQ(Of("lmdb", records, 20000).find("1000 records (all: 19998 bytes, CRC-32 "), 0u);
}

}  // namespace
}  // namespace caffe2::testing
