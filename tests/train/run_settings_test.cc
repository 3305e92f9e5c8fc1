#include "train/run_settings.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/trainer_fixture.h"
#include "train/input.h"

namespace caffe2 {
namespace {

// Two shards, of which the second has other options; returns what both say.
class RunSettingsTest : public TrainerTest {
 protected:
  void ExpectDisagreement(std::function<void(TrainOptions*)> adjust, const std::string& name,
                          const std::string& first, const std::string& second) {
    errors_expected_ = true;
    adjust_ = [adjust = std::move(adjust)](TrainOptions* options) {
      if (options->shards.shard_id == 1) adjust(options);
    };
    for (const ShardResult& shard : Run(Small("mlp"), 2)) {
      for (const std::string& text :
           {name + " differs: ", first + " on shard 0", second + " on shard 1"}) {
        EXPECT_NE(shard.error.find(text), std::string::npos) << shard.error;
      }
    }
  }
};

TEST_F(RunSettingsTest, ShardsMustAgreeOnTheFlagsOfTheLoop) {
  ExpectDisagreement([](TrainOptions* options) { options->schedule.max_iterations = 7; },
                     "max_iterations", "0", "7");
  ExpectDisagreement([](TrainOptions* options) { options->schedule.num_epochs = 3; }, "num_epochs",
                     "1", "3");
  ExpectDisagreement([](TrainOptions* options) { options->output.checkpoint_every = 5; },
                     "checkpoint_every", "0", "5");
  ExpectDisagreement([](TrainOptions* options) { options->schedule.sync_every = 5; }, "sync_every",
                     "0", "5");
  ExpectDisagreement([](TrainOptions* options) { options->data.image_pad = 2; }, "image_pad", "0",
                     "2");
  ExpectDisagreement([](TrainOptions* options) { options->data.holdout = 0.5f; }, "holdout", "0",
                     "0.5");
  ExpectDisagreement([](TrainOptions* options) { options->output.resume = true; }, "resume", "0",
                     "1");
  ExpectDisagreement([](TrainOptions* options) { options->schedule.check_parameters_every = 0; },
                     "check_parameters_every", "500", "0");
  ExpectDisagreement(
      [](TrainOptions* options) {
        options->model.shape.hidden = {8, 4};
      },
      "hidden", "16", "8,4");
}

TEST_F(RunSettingsTest, ShardsMustHaveTheSameData) {
  const std::string fewer = directory_.Path("fewer.minidb"),
                    other = directory_.Path("other.minidb");
  testing::MakeImageDatabase(fewer, 90, kSide, kLabels, 1);
  testing::MakeImageDatabase(other, 101, kSide, kLabels, 2);
  DataOptions data;
  data.db_type = "minidb";
  const auto fingerprint = [&data](const std::string& path) { return DataFingerprint(data, path); };
  const std::string usual = fingerprint(database_);
  EXPECT_EQ(usual.find("101 records (all: "), 0u) << usual;
  ExpectDisagreement([&](TrainOptions* options) { options->data.train_data = fewer; },
                     "--train_data", usual, fingerprint(fewer));
  ExpectDisagreement([&](TrainOptions* options) { options->data.train_data = other; },
                     "--train_data", usual, fingerprint(other));
  ExpectDisagreement([&](TrainOptions* options) { options->data.test_data = other; }, "--test_data",
                     "nothing", fingerprint(other));
}

TEST_F(RunSettingsTest, ARunReadsItsDataForTheFingerprintOnce) {
  DataOptions data;
  data.db_type = "minidb";
  const std::string usual = DataFingerprint(data, database_);
  data.fingerprints = std::make_shared<std::map<std::string, std::string>>();
  EXPECT_EQ(DataFingerprint(data, database_), usual);
  std::filesystem::remove(database_);
  EXPECT_EQ(DataFingerprint(data, database_), usual);
  data.fingerprints = nullptr;
  EXPECT_THROW(DataFingerprint(data, database_), IoError);
}

}  // namespace
}  // namespace caffe2
