#include "db/db_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "db/batch_pipeline.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {
namespace {

class DBReaderTest : public ::testing::Test {
 protected:
  void SetUp() override { Write(101); }
  void Write(int n) {
    WriteDB("minidb", directory_.Path("db"),
            MakeRecords(n, [](int i) { return std::to_string(i); }));
  }
  db::DBReader Reader(const db::DBReaderOptions& options = {}) {
    return db::DBReader("minidb", directory_.Path("db"), options);
  }
  // Values of the next n records.
  static std::vector<int> Take(db::DBReader reader, int n) {
    db::RecordBatch batch;
    reader.ReadBatch(n, &batch);
    return Values(batch);
  }
  static std::vector<int> Values(const db::RecordBatch& batch) {
    std::vector<int> values;
    for (const db::Record& record : batch.records) values.push_back(std::stoi(record.value));
    return values;
  }
  // What one shard reads.
  std::vector<int> Stream(int n, bool shuffle, uint64_t seed = 0) {
    return Take(Reader({.shuffle = shuffle, .seed = seed}), n);
  }

  TemporaryDirectory directory_;
};

TEST_F(DBReaderTest, CountsTheTimeThatNetsWait) {
  const db::DBReader reader = Reader();
  const auto start = std::chrono::steady_clock::now();
  {
    db::BatchPipeline pipeline(
        {}, [](db::InputBatch*) {},
        [](db::InputBatch*, int) { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
    for (int i = 0; i < 20; ++i) pipeline.Next(reader);
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  EXPECT_GT(reader.WaitedSeconds(), 0);
  EXPECT_LT(reader.WaitedSeconds(), all.count());
  EXPECT_EQ(Reader().WaitedSeconds(), 0);  // another stream
}

// Notes what a pipeline asks for, by the address of the batch; fails for the batch with record 4.
class NotingUploader final : public db::BatchUploader {
 public:
  void Reclaim(db::InputBatch* batch) override { Note(batch, 'r'); }
  void Place(db::InputBatch* batch) override { Note(batch, 'p'); }
  std::vector<int> Upload(db::InputBatch* batch) override {
    Note(batch, 'u');
    for (const db::Record& record : batch->source.records) {
      CAFFE_ENFORCE_NE(record.value, "4", "the device is full");
    }
    return {};
  }
  bool Decodes(std::string_view) const override { return false; }
  void Note(db::InputBatch* batch, char what) {
    std::lock_guard<std::mutex> lock(mutex_);
    notes_[batch] += what;
  }
  std::string Notes(db::InputBatch* batch) {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(notes_[batch], "");
  }

 private:
  std::mutex mutex_;
  std::map<db::InputBatch*, std::string> notes_;
};

TEST_F(DBReaderTest, DecodedBatchesAreUploadedBeforeTheyAreHandedOut) {
  const db::DBReader reader = Reader();
  NotingUploader uploader;
  std::set<db::InputBatch*> slots;
  std::vector<int> seen;
  {
    db::BatchPipeline pipeline(
        {.batch_size = 3, .threads = 3}, [&](db::InputBatch* batch) { uploader.Note(batch, 's'); },
        [](db::InputBatch*, int item) {
          if (item == 1) std::this_thread::yield();
        },
        &uploader);
    for (int i = 0; i < 20; ++i) {
      if (i == 1) {
        try {
          pipeline.Next(reader);
          ADD_FAILURE() << "nothing thrown";
        } catch (const EnforceNotMet& error) {
          const std::string message = error.what();
          EXPECT_NE(message.find("the device is full"), std::string::npos) << message;
          EXPECT_NE(message.find(reader.source()), std::string::npos) << message;
        }
        continue;
      }
      db::InputBatch* batch = pipeline.Next(reader);
      const std::string notes = uploader.Notes(batch);
      EXPECT_EQ(notes.substr(notes.size() - 4), "rspu");
      slots.insert(batch);
      for (const int value : Values(batch->source)) seen.push_back(value);
    }
  }
  EXPECT_LE(slots.size(), 4u) << "slots are used again";
  EXPECT_EQ(seen.size(), 57u);
  EXPECT_EQ(seen[3], 6) << "behind the batch that failed";
}

TEST_F(DBReaderTest, ShardsTogetherVisitWhatOneShardVisits) {
  for (const bool shuffle : {false, true}) {
    const std::vector<int> whole = Stream(4 * 16 * 20, shuffle, 7);
    for (const int shards : {1, 2, 3, 4, 7}) {
      for (int shard = 0; shard < shards; ++shard) {
        auto reader =
            Reader({.num_shards = shards, .shard_id = shard, .shuffle = shuffle, .seed = 7});
        const std::vector<int> part = Take(reader, 1280 / shards);
        for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[shard + i * shards]);
      }
    }
  }
}

TEST_F(DBReaderTest, EachEpochVisitsEachRecordOnce) {
  for (const bool shuffle : {false, true}) {
    const std::vector<int> values = Stream(303, shuffle);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const std::set<int> seen(values.begin() + 101 * epoch, values.begin() + 101 * (epoch + 1));
      EXPECT_EQ(seen.size(), 101u);
    }
  }
}

TEST_F(DBReaderTest, UnshuffledOrderIsTheDatabases) {
  const std::vector<int> values = Stream(150, false);
  for (int i = 0; i < 150; ++i) EXPECT_EQ(values[i], i % 101);
}

TEST_F(DBReaderTest, ShuffleDependsOnSeedAndEpochOnly) {
  const std::vector<int> a = Stream(202, true, 1);
  EXPECT_EQ(a, Stream(202, true, 1));
  EXPECT_NE(a, Stream(202, true, 2));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 101, a.begin() + 101));
  EXPECT_FALSE(std::is_sorted(a.begin(), a.begin() + 101));
}

TEST_F(DBReaderTest, ShuffleIsStable) {
  // The order is part of what a resumed run relies on: it must not change between versions.
  Write(8);
  EXPECT_EQ(Stream(8, true, 42), std::vector<int>({2, 7, 1, 5, 6, 4, 0, 3}));
}

TEST_F(DBReaderTest, RestoreContinuesExactly) {
  for (const bool shuffle : {false, true}) {
    auto reader = Reader({.num_shards = 2, .shard_id = 1, .shuffle = shuffle});
    Take(reader, 57);
    EXPECT_EQ(reader.Committed(), 57);
    const std::vector<int> rest = Take(reader, 200);
    auto resumed = Reader({.num_shards = 2, .shard_id = 1, .shuffle = shuffle});
    resumed.Restore(57);
    EXPECT_EQ(resumed.Committed(), 57);
    EXPECT_EQ(std::stoi(resumed.KeyAtPosition()), rest[0]);
    EXPECT_EQ(Take(resumed, 200), rest);
    EXPECT_THROW(resumed.Restore(-1), EnforceNotMet);
    EXPECT_THROW(resumed.Restore(INT64_MAX), EnforceNotMet);
  }
}

// After n records of all shards, for any n.
TEST_F(DBReaderTest, AnotherNumberOfShardsContinuesExactly) {
  for (const bool shuffle : {false, true}) {
    const std::vector<int> expected = Stream(400, shuffle, 0);
    for (const int n : {0, 1, 95, 99, 100, 101, 202}) {
      for (const int shards : {1, 3, 4}) {
        std::vector<int> seen(120, -1);
        for (int shard = 0; shard < shards; ++shard) {
          auto reader = Reader({.num_shards = shards, .shard_id = shard, .shuffle = shuffle});
          reader.Restore(n / shards, n % shards);
          EXPECT_EQ(reader.CommittedByAll(), n);
          const std::vector<int> own = Take(reader, 120 / shards);
          for (size_t i = 0; i < own.size(); ++i) seen[i * shards + shard] = own[i];
          EXPECT_EQ(reader.offset(), n % shards);
          EXPECT_EQ(reader.CommittedByAll(), n + 120);
        }
        EXPECT_TRUE(std::equal(seen.begin(), seen.end(), expected.begin() + n))
            << n << " records, then " << shards << " shards";
      }
    }
  }
  auto reader = Reader({.num_shards = 2});
  EXPECT_THROW(reader.Restore(5, 2), EnforceNotMet);
  EXPECT_THROW(reader.Restore(5, -1), EnforceNotMet);
}

TEST_F(DBReaderTest, ReadAheadDoesNotCountUntilCommitted) {
  auto reader = Reader();
  const auto consumer = reader.AddConsumer(10);
  db::RecordBatch first, second;
  reader.Read(consumer, &first);
  reader.Read(consumer, &second);
  EXPECT_EQ(reader.Committed(), 0);
  EXPECT_TRUE(reader.Commit(consumer, first));
  EXPECT_EQ(reader.Committed(), 10);
  reader.Restore(50);
  EXPECT_FALSE(reader.Commit(consumer, second)) << "read before the restore";
  db::RecordBatch third;
  reader.Read(consumer, &third);
  EXPECT_EQ(Values(third)[0], 50);
  EXPECT_TRUE(reader.Commit(consumer, third));
  EXPECT_EQ(reader.Committed(), 60);
}

TEST_F(DBReaderTest, ConsumersAreDealtBatchesInTurnWhateverTheTiming) {
  auto reader = Reader();
  const auto a = reader.AddConsumer(3), b = reader.AddConsumer(2);
  db::RecordBatch batch_a[3], batch_b[3];
  for (auto& batch : batch_b) reader.Read(b, &batch);  // b is quicker
  for (auto& batch : batch_a) reader.Read(a, &batch);
  EXPECT_EQ(Values(batch_a[0]), std::vector<int>({0, 1, 2}));
  EXPECT_EQ(Values(batch_b[0]), std::vector<int>({3, 4}));
  EXPECT_EQ(Values(batch_a[1]), std::vector<int>({5, 6, 7}));
  EXPECT_EQ(Values(batch_b[2]), std::vector<int>({13, 14}));
  EXPECT_TRUE(reader.Commit(a, batch_a[0]));
  EXPECT_TRUE(reader.Commit(b, batch_b[0]));
  EXPECT_EQ(reader.Committed(), 5);
  reader.RemoveConsumer(b);  // its net is gone: a continues alone
  EXPECT_EQ(reader.Committed(), 5);
  EXPECT_FALSE(reader.Commit(a, batch_a[1]));
  reader.Read(a, &batch_a[0]);
  EXPECT_EQ(Values(batch_a[0]), std::vector<int>({5, 6, 7}));
}

TEST_F(DBReaderTest, AConsumerThatNeverRunsLosesItsTurn) {
  auto reader = Reader();
  const auto a = reader.AddConsumer(4), idle = reader.AddConsumer(4);
  std::vector<int> seen;
  db::RecordBatch batch;
  while (seen.size() < 40) {
    reader.Read(a, &batch);
    ASSERT_TRUE(reader.Commit(a, batch));
    for (const int value : Values(batch)) seen.push_back(value);
  }
  // From the third batch on the records follow each other.
  for (size_t i = 9; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - 1] + 1);
  // When it runs after all, it has its turn again.
  reader.Read(idle, &batch);
  EXPECT_TRUE(reader.Commit(idle, batch));
  EXPECT_EQ(Values(batch)[0], seen.back() + 1 + 4);
}

TEST_F(DBReaderTest, ReadsFromManyThreads) {
  auto reader = Reader();
  std::vector<std::vector<int>> seen(4);
  std::vector<std::thread> threads;
  for (auto& values : seen) {
    threads.emplace_back([&values, reader]() mutable {
      for (int i = 0; i < 101; ++i) values.push_back(Take(reader, 1)[0]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> counts(101);
  for (const auto& values : seen) {
    for (const int value : values) ++counts[value];
  }
  EXPECT_EQ(counts, std::vector<int>(101, 4));
}

// Both parts, of one shard and of three, in order and shuffled.
TEST_F(DBReaderTest, PartsOfADatabaseAreStreamsOfTheirOwn) {
  std::vector<int> all;
  for (const bool held_out : {false, true}) {
    const db::Holdout part{.share = 0.2, .held_out = held_out};
    const db::DBReader reader = Reader({.holdout = part});
    const int n = held_out ? 20 : 81;
    ASSERT_EQ(reader.NumRecords(), n);
    EXPECT_EQ(reader.NumOtherRecords(), 101 - n);
    const std::vector<int> values = Take(reader, 2 * n);
    const std::vector<int> epoch(values.begin(), values.begin() + n);
    EXPECT_TRUE(std::is_sorted(epoch.begin(), epoch.end()));
    EXPECT_EQ(std::vector<int>(values.begin() + n, values.end()), epoch);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(reader.IndexInDatabase(i), epoch[i]);
      db::Record record;
      reader.ReadRecord(i, &record);
      EXPECT_EQ(record.value, std::to_string(epoch[i]));
    }
    std::vector<int> visited;
    reader.Visit([&](const std::string&, const std::string& value) {
      visited.push_back(std::stoi(value));
      return true;
    });
    EXPECT_EQ(visited, epoch);
    std::vector<int> shuffled = Take(Reader({.shuffle = true, .seed = 3, .holdout = part}), n);
    EXPECT_NE(shuffled, epoch);
    std::vector<int> of_shards(static_cast<size_t>(n));
    for (int shard = 0; shard < 3; ++shard) {
      const std::vector<int> own = Take(
          Reader({.num_shards = 3, .shard_id = shard, .shuffle = true, .seed = 3, .holdout = part}),
          (n - shard + 2) / 3);
      for (size_t i = 0; i < own.size(); ++i)
        of_shards[3 * i + static_cast<size_t>(shard)] = own[i];
    }
    EXPECT_EQ(of_shards, shuffled);
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, epoch);
    all.insert(all.end(), epoch.begin(), epoch.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Stream(101, false));
}

TEST_F(DBReaderTest, APartMustHaveARecordForEachShard) {
  const std::string message = ThrownMessage<EnforceNotMet>(
      [&] { Reader({.num_shards = 11, .holdout = {.share = 0.1, .held_out = true}}); });
  EXPECT_NE(message.find("10 records that are held out, fewer than the 11 shards"),
            std::string::npos)
      << message;
}

TEST_F(DBReaderTest, BadOptionsAreErrors) {
  EXPECT_THROW(Reader({.num_shards = 0}), EnforceNotMet);
  EXPECT_THROW(Reader({.num_shards = 2, .shard_id = 2}), EnforceNotMet);
  EXPECT_THROW(Reader({.num_shards = 2, .shard_id = -1}), EnforceNotMet);
  EXPECT_THROW(Reader({.num_shards = 102, .shard_id = 0}), EnforceNotMet);
}

TEST_F(DBReaderTest, EmptyDatabaseIsAnErrorWithThePath) {
  WriteDB("lmdb", directory_.Path("empty"), {});
  const std::string message =
      ThrownMessage<IoError>([&] { db::DBReader("lmdb", directory_.Path("empty")); });
  EXPECT_NE(message.find("is empty"), std::string::npos) << message;
  EXPECT_NE(message.find(directory_.Path("empty")), std::string::npos) << message;
}

}  // namespace
}  // namespace caffe2::testing
