// Shards that train by themselves between averages (--sync_every).
#include <gtest/gtest.h>

#include "db/db.h"
#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

class LocalSgdTest : public TrainerTest {
 protected:
  // The records of the database that shard `shard` of two sees, in a database of their own.
  std::string RecordsOf(int shard) const {
    const std::string path = directory_.Path("part_" + std::to_string(shard) + ".minidb");
    const auto from = db::CreateDB("minidb", database_, db::READ);
    const auto to = db::CreateDB("minidb", path, db::NEW);
    const auto transaction = to->NewTransaction();
    const auto cursor = from->NewCursor();
    for (int i = 0; cursor->Valid(); ++i, cursor->Next()) {
      if (i % 2 == shard) transaction->Put(cursor->key(), cursor->value());
    }
    transaction->Commit();
    to->Close();
    return path;
  }

  static void ExpectNear(const std::vector<float>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-6) << i;
  }
};

// The reference is two runs of one shard each.
TEST_F(LocalSgdTest, TheFirstBlockIsTheMeanOfTwoRuns) {
  constexpr int kBlock = 3;
  TrainOptions options = Small("mlp");
  options.schedule.num_epochs = 0;
  const std::vector<float> start = Run(options)[0].params;
  options.schedule.num_epochs = 1;
  options.schedule.epoch_size = 8 * kBlock;
  TrainOptions alone = options;
  alone.data.train_data = RecordsOf(0);
  const std::vector<float> first = Run(alone)[0].params;
  alone.data.train_data = RecordsOf(1);
  const std::vector<float> second = Run(alone)[0].params;

  options.schedule.epoch_size = 2 * 8 * kBlock;
  options.schedule.sync_every = kBlock;
  ASSERT_EQ(first.size(), start.size());
  ASSERT_EQ(second.size(), start.size());
  std::vector<double> mean(start.size()), step(start.size());
  for (size_t i = 0; i < start.size(); ++i) {
    mean[i] = (double{first[i]} + second[i]) / 2;
    step[i] = start[i] + 0.75 * (mean[i] - start[i]);
  }
  for (const ShardResult& shard : Run(options, 2)) ExpectNear(shard.params, mean);
  options.schedule.block_momentum = 0.5f;
  options.schedule.block_learning_rate = 0.75f;
  for (const ShardResult& shard : Run(options, 2)) ExpectNear(shard.params, step);
}

TEST_F(LocalSgdTest, AveragingEveryUpdateOfSgdIsSynchronous) {
  TrainOptions options = Small("mlp");
  options.schedule.num_epochs = 3;
  const auto synchronous = Run(options, 2);
  options.schedule.sync_every = 1;
  const auto averaged = Run(options, 2);
  for (int s = 0; s < 2; ++s) {
    const auto &expected = synchronous[s].log->iterations, &actual = averaged[s].log->iterations;
    ASSERT_EQ(actual.size(), 15u);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_NEAR(actual[i].loss, expected[i].loss, 1e-5) << i;
    }
    ExpectNear(averaged[s].params, {synchronous[s].params.begin(), synchronous[s].params.end()});
  }
}

// Log lines come with the averages: after 4, 8, 10 (the epoch's end), 12, 16 and 20 iterations.
TEST_F(LocalSgdTest, ShardsLearnAndReportTogether) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 160;
  options.schedule.num_epochs = 2;
  options.schedule.sync_every = 4;
  options.data.test_data = database_;
  const auto shards = Run(options, 2);
  EXPECT_EQ(shards[0].state, shards[1].state);
  std::vector<int64_t> iterations;
  for (const IterationReport& report : shards[0].log->iterations) {
    iterations.push_back(report.epoch * 10 + report.iteration);
  }
  EXPECT_EQ(iterations, (std::vector<int64_t>{4, 8, 10, 12, 16, 20}));
  const auto& log = shards[0].log->iterations;
  EXPECT_LT(log.back().loss, log.front().loss);
  EXPECT_EQ(shards[0].log->tests.back().accuracy, shards[1].log->tests.back().accuracy);
  const double sum = 4 * log[0].loss + 4 * log[1].loss + 2 * log[2].loss;
  EXPECT_NEAR(shards[0].log->epochs[0].loss, sum / 10, 1e-6);
}

TEST_F(LocalSgdTest, ContinuesToTheBitFromAnAverage) {
  TrainOptions options = Small("resnet20_cifar");
  options.data.shuffle = true;
  options.schedule.batch_size = 4;
  options.schedule.epoch_size = 4 * 6 * 2;
  options.schedule.num_epochs = 100;
  options.schedule.sync_every = 4;
  options.schedule.block_momentum = 0.5f;
  options.schedule.max_iterations = 20;
  const auto whole = Run(options, 2);
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 8;
  options.schedule.max_iterations = 8;
  Run(options, 2);
  options.output.resume = true;
  options.schedule.max_iterations = 20;
  const auto resumed = Run(options, 2);
  for (int s = 0; s < 2; ++s) EXPECT_EQ(whole[s].state, resumed[s].state) << "shard " << s;
}

// It comes after the log line of iteration 4.
TEST_F(LocalSgdTest, ASignalIsObeyedAtTheNextAverage) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 320;
  options.schedule.sync_every = 4;
  const auto stop = [](size_t finished) { return finished > 0 ? 15 : 0; };
  for (const ShardResult& shard : Run(options, 2, stop)) {
    EXPECT_EQ(shard.signal, 15);
    ASSERT_EQ(shard.log->iterations.size(), 2u);
    EXPECT_EQ(shard.log->iterations[1].iteration, 8);
  }
}

TEST_F(LocalSgdTest, ALossThatExplodesEndsAllShards) {
  TrainOptions options = Small("mlp");
  options.model.base_learning_rate = 1e6f;
  options.schedule.sync_every = 4;
  errors_expected_ = true;
  for (const ShardResult& shard : Run(options, 2)) {
    EXPECT_NE(shard.error.find("Exploded gradients"), std::string::npos) << shard.error;
  }
}

}  // namespace
}  // namespace caffe2
