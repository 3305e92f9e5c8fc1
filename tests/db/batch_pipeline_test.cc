#include "db/batch_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

// Batches of the numbers that records hold; records that hold none are bad.
class BadRecordsTest : public ::testing::Test {
 protected:
  static constexpr int kBatch = 4;

  void Write(const std::vector<std::string>& values) {
    WriteDB("minidb", path_, MakeRecords(static_cast<int>(values.size()), [&](int i) {
              return values[static_cast<size_t>(i)];
            }));
  }

  // The first `batches` batches of a shard, one after another.
  std::vector<int> Read(int batches, int64_t max_bad_records, int threads = 1, int num_shards = 1,
                        int shard_id = 0) const {
    db::BatchPipeline pipeline(
        {.batch_size = kBatch, .threads = threads, .max_bad_records = max_bad_records},
        [](db::InputBatch* batch) {
          batch->outputs.resize(1);
          batch->outputs[0].Resize(kBatch);
          batch->outputs[0].mutable_data<int>();
        },
        [](db::InputBatch* batch, int item) {
          const std::string& text = batch->source.records[item].value;
          CAFFE_ENFORCE(text.find_first_not_of("0123456789") == std::string::npos, text);
          batch->outputs[0].mutable_data<int>()[item] = std::stoi(text);
        });
    const db::DBReader reader("minidb", path_, {.num_shards = num_shards, .shard_id = shard_id});
    std::vector<int> read;
    for (int i = 0; i < batches; ++i) {
      const Tensor& output = pipeline.Next(reader)->outputs[0];
      read.insert(read.end(), output.data<int>(), output.data<int>() + kBatch);
    }
    return read;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("numbers.minidb");
};

TEST_F(BadRecordsTest, TheRecordBeforeTakesThePlace) {
  Write({"0", "1", "bad", "3", "worse", "5", "6", "none"});
  for (const int threads : {1, 3}) {
    // The second epoch has the same bad records, which count once.
    EXPECT_EQ(Read(4, 3, threads),
              (std::vector<int>{0, 1, 1, 3, 5, 5, 6, 6, 0, 1, 1, 3, 5, 5, 6, 6}));
  }
}

TEST_F(BadRecordsTest, OneMoreIsAnErrorThatNamesIt) {
  Write({"0", "1", "bad", "3", "worse", "5", "6", "none"});
  for (const int64_t max : {0, 1, 2}) {
    const std::string error = ThrownMessage<EnforceNotMet>([&] { Read(2, max); });
    const std::string key = max == 0 ? "00000002" : max == 1 ? "00000004" : "00000007";
    EXPECT_NE(error.find(key), std::string::npos) << error;
    EXPECT_NE(error.find("numbers.minidb"), std::string::npos) << error;
  }
}

TEST_F(BadRecordsTest, ABatchOfBadRecordsIsAnError) {
  Write({"a", "b", "c", "d"});
  const std::string error = ThrownMessage<EnforceNotMet>([&] { Read(1, 100); });
  EXPECT_NE(error.find("all 4 records"), std::string::npos) << error;
}

// A device that refuses the items whose output is 3, 4 or 5.
class RefusingUploader final : public db::BatchUploader {
 public:
  void Reclaim(db::InputBatch*) override {}
  void Place(db::InputBatch*) override {}
  std::vector<int> Upload(db::InputBatch* batch) override {
    std::vector<int> refused;
    const int* numbers = batch->outputs[0].data<int>();
    for (int i = 0; i < batch->outputs[0].size(0); ++i) {
      if (numbers[i] >= 3 && numbers[i] <= 5) refused.push_back(i);
    }
    return refused;
  }
  bool Decodes(std::string_view) const override { return true; }
};

TEST_F(BadRecordsTest, ItemsThatADeviceRefusesAreDecodedAgain) {
  Write({"0", "1", "2", "3", "4", "5", "6", "7"});
  RefusingUploader uploader;
  const auto read = [&](int64_t max_bad_records) {
    db::BatchPipeline pipeline(
        {.batch_size = kBatch, .threads = 2, .max_bad_records = max_bad_records},
        [](db::InputBatch* batch) {
          batch->outputs.resize(1);
          batch->outputs[0].Resize(kBatch);
          batch->outputs[0].mutable_data<int>();
        },
        [](db::InputBatch* batch, int item) {
          const bool refused = std::count(batch->refused.begin(), batch->refused.end(), item) != 0;
          const int number = std::stoi(batch->source.records[item].value);
          CAFFE_ENFORCE(!refused || number != 5, "damaged");
          batch->outputs[0].mutable_data<int>()[item] = refused ? 100 + number : number;
        },
        &uploader);
    const db::DBReader reader("minidb", path_);
    std::vector<int> numbers;
    for (int i = 0; i < 2; ++i) {
      const Tensor& output = pipeline.Next(reader)->outputs[0];
      numbers.insert(numbers.end(), output.data<int>(), output.data<int>() + kBatch);
    }
    return numbers;
  };
  EXPECT_EQ(read(1), (std::vector<int>{0, 1, 2, 103, 104, 104, 6, 7}));
  const std::string error = ThrownMessage<EnforceNotMet>([&] { read(0); });
  EXPECT_NE(error.find("damaged"), std::string::npos) << error;
  EXPECT_NE(error.find("00000005"), std::string::npos) << error;
}

// Bad records of one shard do not change what the other reads.
TEST_F(BadRecordsTest, ShardsStillCoverAllRecords) {
  std::vector<std::string> values;
  for (int i = 0; i < 16; ++i) values.push_back(std::to_string(i));
  Write(values);
  std::vector<std::vector<int>> whole;
  for (int shard = 0; shard < 2; ++shard) whole.push_back(Read(2, 0, 1, 2, shard));
  const int bad = whole[0][5];
  values[static_cast<size_t>(bad)] = "bad";
  Write(values);
  std::vector<int> expected = whole[0];
  expected[5] = expected[4];
  EXPECT_EQ(Read(2, 1, 1, 2, 0), expected);
  EXPECT_EQ(Read(2, 1, 1, 2, 1), whole[1]);
}

}  // namespace
}  // namespace caffe2::testing
