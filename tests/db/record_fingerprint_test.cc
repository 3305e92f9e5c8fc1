#include "db/record_fingerprint.h"

#include <gtest/gtest.h>

#include "caffe2/utils/crc32.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

class RecordFingerprintTest : public ::testing::Test {
 protected:
  std::string Of(const std::string& db_type, const Records& records) {
    const std::string path = directory_.Path(MakeString("db", ++made_));
    WriteDB(db_type, path, records);
    const auto database = db::CreateDB(db_type, path, db::READ);
    return db::RecordFingerprint(database->NewIndex().get());
  }

  TemporaryDirectory directory_;
  int made_ = 0;
};

TEST_F(RecordFingerprintTest, CountsAndSumsUpFewRecords) {
  const std::string all = "00000000a00000001bb";
  EXPECT_EQ(Of("minidb", {{"00000000", "a"}, {"00000001", "bb"}}),
            MakeString("2 records (2 sampled: 19 bytes, CRC-32 ", std::hex,
                       Crc32(all.data(), all.size()), ")"));
  EXPECT_EQ(Of("minidb", {{"k", "v"}}).substr(0, 32), "1 records (1 sampled: 2 bytes, C");
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

}  // namespace
}  // namespace caffe2::testing
