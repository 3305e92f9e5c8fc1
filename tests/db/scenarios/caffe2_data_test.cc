// Databases that Caffe2 and Caffe wrote: CAFFE2_TEST_DATA names the folder with caffe2_db in it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "db/db_reader.h"
#include "db/record.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

namespace fs = std::filesystem;

class CaffeDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("CAFFE2_TEST_DATA");
    if (folder == nullptr) GTEST_SKIP() << "CAFFE2_TEST_DATA is not set";
    data_ = fs::path(folder) / "caffe2_db";
    if (!fs::exists(data_)) GTEST_SKIP() << "there is no " << data_;
  }
  // Runs a command that unpacks into the test's directory; false where the tool is missing.
  bool Unpack(const std::string& command) const { return std::system(command.c_str()) == 0; }

  fs::path data_;
  TemporaryDirectory directory_;
};

TEST_F(CaffeDataTest, MnistInLmdbAndLevelDBIsTheSame) {
  if (!Unpack("tar xzf '" + (data_ / "mnist-test-nchw-lmdb.tar.gz").string() + "' -C '" +
              directory_.Path("") + "'")) {
    GTEST_SKIP() << "no tar";
  }
  const Records lmdb = ReadDB("lmdb", directory_.Path("mnist-test-nchw-lmdb"));
  ASSERT_EQ(lmdb.size(), 10000u);
  EXPECT_EQ(lmdb.front().first, "00000000");
  EXPECT_EQ(lmdb.back().first, "00009999");
  // Opening a LevelDB rewrites files of it: work on a copy that can be written.
  fs::copy(data_ / "mnist-test-nchw-leveldb", directory_.Path("leveldb"));
  for (const auto& entry : fs::directory_iterator(directory_.Path("leveldb"))) {
    fs::permissions(entry, fs::perms::owner_all);
  }
  fs::permissions(directory_.Path("leveldb"), fs::perms::owner_all);
  EXPECT_EQ(ReadDB("leveldb", directory_.Path("leveldb")), lmdb);
  // The test set's first labels, and how often each digit occurs.
  const int first[] = {7, 2, 1, 0, 4, 1, 4, 9, 5, 9};
  std::map<int, int> counts;
  for (size_t i = 0; i < lmdb.size(); ++i) {
    db::TensorView views[2];
    ASSERT_EQ(db::ParseTensorProtos(lmdb[i].second, views, 2), db::ParseResult::kOk);
    EXPECT_EQ(views[0].byte_data.size(), 784u);
    int32_t label = -1;
    ASSERT_TRUE(db::UnpackInt32(views[1].int32_data, 1, &label));
    if (i < 10) {
      EXPECT_EQ(label, first[i]);
    }
    ++counts[label];
  }
  EXPECT_EQ(counts, (std::map<int, int>{{0, 980},
                                        {1, 1135},
                                        {2, 1032},
                                        {3, 1010},
                                        {4, 982},
                                        {5, 892},
                                        {6, 958},
                                        {7, 1028},
                                        {8, 974},
                                        {9, 1009}}));
}

TEST_F(CaffeDataTest, MinidbWithEqualKeys) {
  db::DBReader reader("minidb", (data_ / "iris_train.minidb").string());
  ASSERT_EQ(reader.NumRecords(), 740);
  db::RecordBatch batch;
  reader.ReadBatch(740, &batch);
  for (const db::Record& record : batch.records) {
    EXPECT_EQ(record.key, "train_%03d");
    db::TensorView views[2];
    ASSERT_EQ(db::ParseTensorProtos(record.value, views, 2), db::ParseResult::kOk);
    EXPECT_EQ(views[0].float_data.size(), 16u);
  }
}

TEST_F(CaffeDataTest, CaffeDatumLmdb) {
  const fs::path packed = data_ / "caffe1_datum_digits_lmdb" / "data.mdb.zst";
  if (!Unpack("zstd -dq '" + packed.string() + "' -o '" + directory_.Path("data.mdb") + "'")) {
    GTEST_SKIP() << "no zstd";
  }
  const Records records = ReadDB("lmdb", directory_.Path(""));
  ASSERT_EQ(records.size(), 1840u);
  for (const auto& record : records) {
    EXPECT_EQ(db::DetectRecordKind(record.second), db::RecordKind::kDatum);
    db::DatumView datum;
    ASSERT_EQ(db::ParseDatum(record.second, &datum), db::ParseResult::kOk);
    EXPECT_EQ(datum.channels, 1);
    EXPECT_EQ(datum.height, 28);
    EXPECT_EQ(datum.width, 28);
    EXPECT_EQ(datum.data.size(), 784u);
    EXPECT_TRUE(datum.label >= 0 && datum.label <= 9);
  }
}

}  // namespace
}  // namespace caffe2::testing
