#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "db/holdout.h"
#include "tests/core/log_lines.h"
#include "tests/train/trainer_fixture.h"
#include "train/predictor.h"

namespace caffe2 {
namespace {

TEST_F(TrainerTest, LearnsAndReports) {
  TrainOptions options = Small("mlp");
  options.data.test_data = database_;
  options.schedule.num_epochs = 8;
  const auto result = Run(options);
  const Recorder& log = *result[0].log;
  EXPECT_EQ(log.iterations.size(), 80u);
  EXPECT_EQ(log.epochs.size(), 8u);
  EXPECT_LT(log.epochs.back().loss, log.epochs.front().loss);
  ASSERT_EQ(log.tests.size(), 8u);
  EXPECT_EQ(log.tests.back().images, 101);
  EXPECT_GT(log.tests.back().accuracy, 0.9);
  EXPECT_EQ(log.epochs.back().images, 80);
  EXPECT_EQ(log.iterations[9].iteration, 10);
  for (const IterationReport& report : log.iterations) {  // a share of the time
    EXPECT_GE(report.input_wait, 0);
    EXPECT_LE(report.input_wait, 1);
  }
}

TEST_F(TrainerTest, ReportsMeansOfSeveralIterations) {
  TrainOptions options = Small("mlp");
  const auto each = Run(options);
  options.output.log_every = 4;
  const auto some = Run(options);
  ASSERT_EQ(some[0].log->iterations.size(), 3u);  // after 4, 8 and the last of 10
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += each[0].log->iterations[i].loss;
  EXPECT_NEAR(some[0].log->iterations[0].loss, sum / 4, 1e-6);
}

TEST_F(TrainerTest, TheLearningRateFallsToZero) {
  TrainOptions options = Small("mlp");
  options.model.lr_policy = "poly";
  options.schedule.num_epochs = 4;
  const auto epochs = Run(options)[0].log->epochs;
  ASSERT_EQ(epochs.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(epochs[i].learning_rate, options.model.base_learning_rate * (3 - i) / 4, 1e-7);
  }
}

TEST_F(TrainerTest, TheSeedDecides) {
  TrainOptions options = Small("mlp");
  const std::string first = Run(options)[0].state;
  EXPECT_EQ(first, Run(options)[0].state);
  options.schedule.seed = 2;
  EXPECT_NE(first, Run(options)[0].state);
}

// Of a network with running statistics, whose test reads copies of them.
TEST_F(TrainerTest, TestsExportsAndCheckpointsChangeNoBit) {
  TrainOptions options = Small("resnet20_cifar");
  options.schedule.epoch_size = 24;
  options.schedule.num_epochs = 2;
  const std::string plain = Run(options)[0].state;
  options.data.test_data = database_;
  options.output.model_path = [this](int epoch) {
    return directory_.Path("model_" + std::to_string(epoch));
  };
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 2;
  EXPECT_EQ(plain, Run(options)[0].state);
  EXPECT_TRUE(std::filesystem::exists(directory_.Path("model_2")));
  EXPECT_FALSE(std::filesystem::exists(directory_.Path("model_1")));  // only the newest is kept
  EXPECT_TRUE(std::filesystem::exists(directory_.Path("checkpoint")));
}

TEST_F(TrainerTest, PaddingChangesWhatIsLearned) {
  TrainOptions options = Small("mlp");
  const std::string plain = Run(options)[0].state;
  EXPECT_EQ(Run(options)[0].state, plain);
  options.data.image_pad = 2;
  EXPECT_NE(Run(options)[0].state, plain);
}

// The same records for any number of shards and any seed.
TEST_F(TrainerTest, ImagesThatAreHeldOutAreTestedAndNotTrainedOn) {
  TrainOptions options = Small("mlp");
  options.data.holdout = 0.1f;
  options.data.test_data = database_;
  options.data.shuffle = true;
  options.schedule.epoch_size = 0;
  options.output.worst_images = 101;
  std::set<int64_t> records;
  for (const int shards : {1, 2}) {
    options.schedule.seed = static_cast<uint64_t>(shards);
    options.model.base_learning_rate = 1e-6f;  // learns nothing, so most are wrong
    const TestReport test = Run(options, shards)[0].log->tests.at(0);
    EXPECT_EQ(test.images, 10);
    for (const WrongImage& image : test.predictions->worst()) {
      records.insert(image.record);
      EXPECT_EQ(std::stoll(image.key), image.record);  // the index in the database
    }
  }
  const auto held_out = db::RecordsOfPart(101, {.share = 0.1f, .held_out = true});
  EXPECT_GE(records.size(), 5u);
  for (const int64_t record : records) {
    EXPECT_TRUE(std::count(held_out.begin(), held_out.end(), record)) << record;
  }
}

TEST_F(TrainerTest, MixingAndErasingChangeWhatIsLearned) {
  TrainOptions options = Small("mlp");
  std::set<std::string> states = {Run(options)[0].state};
  options.model.mixup = 0.2f;
  states.insert(Run(options)[0].state);
  options.model.cutmix = 1;
  states.insert(Run(options)[0].state);
  options.model.mixup = 0;
  states.insert(Run(options)[0].state);
  options.model.cutmix = 0;
  options.data.random_erasing = 0.5f;
  states.insert(Run(options)[0].state);
  EXPECT_EQ(states.size(), 5u);
}

// A net that sees only mixed images still learns to tell the labels apart.
TEST_F(TrainerTest, MixedImagesTeachTheLabels) {
  TrainOptions options = Small("mlp");
  options.data.test_data = database_;
  options.model.mixup = 1;
  options.model.cutmix = 1;
  options.schedule.num_epochs = 20;
  EXPECT_GT(Run(options)[0].log->tests.back().accuracy, 0.9);
}

// Each shard draws of its own.
TEST_F(TrainerTest, ShardsMixDifferently) {
  TrainOptions options = Small("mlp");
  options.model.mixup = 1;
  std::array<uint32_t, 2> seeds{};
  on_iteration_ = [&](Trainer* trainer, int shard) {
    for (const OperatorDef& op : trainer->nets().train.op()) {
      if (op.type() == "MixImages") seeds.at(shard) = op.device_option().random_seed();
    }
  };
  Run(options, 2);
  EXPECT_NE(seeds[0], 0u);
  EXPECT_NE(seeds[0], seeds[1]);
}

class ResumeTest : public TrainerTest, public ::testing::WithParamInterface<int> {
 protected:
  // Compares a run of `whole` iterations with one of `first` and the rest after a checkpoint.
  void ExpectResumesToTheBit(TrainOptions options, int shards, int first, int whole) {
    options.schedule.max_iterations = whole;
    const auto expected = Run(options, shards);
    options.output.checkpoint_path = directory_.Path("checkpoint");
    options.output.checkpoint_every = 100;  // and at the end
    options.schedule.max_iterations = first;
    Run(options, shards);
    options.output.resume = true;
    options.schedule.max_iterations = whole;
    const auto resumed = Run(options, shards);
    for (int s = 0; s < shards; ++s) {
      EXPECT_EQ(expected[s].state, resumed[s].state) << "shard " << s;
      ASSERT_EQ(expected[s].log->iterations.size(), static_cast<size_t>(whole));
      ASSERT_EQ(resumed[s].log->iterations.size(), static_cast<size_t>(whole - first));
      for (int i = first; i < whole; ++i) {
        EXPECT_EQ(expected[s].log->iterations[i].loss, resumed[s].log->iterations[i - first].loss)
            << i;
      }
    }
  }
};

// Of a network with running statistics and momentum, over shuffled, cropped and mirrored images,
// with a rate that falls, stopped in the middle of an epoch: 17 + 23 iterations against 40.
TEST_P(ResumeTest, ContinuesToTheBit) {
  const int shards = GetParam();
  TrainOptions options = Small("resnet20_cifar");
  options.data.shuffle = true;
  options.data.mirror = true;
  options.data.image_scale = kSide + 3;
  options.data.image_pad = 2;
  options.schedule.batch_size = 4;
  options.schedule.epoch_size = 4 * 6 * shards;
  options.schedule.num_epochs = 100;
  options.model.lr_step_epochs = 1;
  options.model.lr_factor = 0.7f;
  ExpectResumesToTheBit(options, shards, /*first=*/17, /*whole=*/40);
}

TEST_P(ResumeTest, ContinuesToTheBitWithMixedAndErasedImages) {
  TrainOptions options = Small("mlp");
  options.data.shuffle = true;
  options.data.random_erasing = 0.5f;
  options.model.mixup = 0.2f;
  options.model.cutmix = 1;
  options.model.label_smoothing = 0.1f;
  options.schedule.batch_size = 4;
  options.schedule.epoch_size = 16 * GetParam();
  options.schedule.num_epochs = 5;
  ExpectResumesToTheBit(options, GetParam(), 7, 20);
}

TEST_P(ResumeTest, ContinuesToTheBitWithImagesHeldOut) {
  const int shards = GetParam();
  TrainOptions options = Small("mlp");
  options.data.holdout = 0.3f;
  options.data.test_data = database_;
  options.data.shuffle = true;
  options.schedule.batch_size = 4;
  options.schedule.epoch_size = 32 * shards;
  options.schedule.num_epochs = 2;
  ExpectResumesToTheBit(options, shards, 6, 16);
}

INSTANTIATE_TEST_SUITE_P(Shards, ResumeTest, ::testing::Values(1, 2, 4));

TEST_F(TrainerTest, ResumingRefusesOtherSettingsAndDamage) {
  TrainOptions options = Small("mlp");
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 5;
  options.output.keep_checkpoints = 1;  // no older one to go on from
  Run(options);
  errors_expected_ = true;
  options.output.resume = true;
  TrainOptions other = options;
  other.schedule.batch_size = 4;
  EXPECT_NE(Run(other)[0].error.find("batch_size (8 there, 4 now)"), std::string::npos);
  std::filesystem::resize_file(directory_.Path("checkpoint"), 500);
  EXPECT_NE(Run(options)[0].error.find("checksum"), std::string::npos);
}

// Without batch norm, shards change only where the images of a batch are computed: their order,
// crops and mirroring are the same.
TEST_F(TrainerTest, ShardsOfSmallBatchesLearnAsOneOfALargeBatch) {
  const std::string database = directory_.Path("digits.minidb");
  testing::MakeImageDatabase(database, 700, 28, 10, 2);  // of MNIST's shape
  TrainOptions options = testing::SmallRun(database, "lenet", 28, 10);
  options.model.base_learning_rate = 0.002f;
  options.data.shuffle = true;
  options.data.mirror = true;
  options.data.image_scale = 31;
  options.schedule.batch_size = 64;
  options.schedule.epoch_size = 640;
  const auto one = Run(options);
  options.schedule.batch_size = 16;
  const auto four = Run(options, 4);
  const auto& expected = one[0].log->iterations;
  for (const ShardResult& shard : four) {
    ASSERT_EQ(shard.log->iterations.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(shard.log->iterations[i].loss, expected[i].loss, 2e-5 * (i + 1)) << i;
    }
  }
}

TEST_F(TrainerTest, EveryImageIsTestedOnceWhateverTheShards) {
  TrainOptions options = Small("mlp");
  options.data.test_data = database_;
  const TestReport one = Run(options)[0].log->tests.at(0);
  EXPECT_EQ(one.images, 101);
  options.schedule.test_epoch_size = 3;
  for (const ShardResult& shard : Run(options, 4)) {  // shard 3 has nothing to test
    EXPECT_EQ(shard.log->tests.at(0).images, 3);
  }
  options.schedule.test_epoch_size = 0;
  for (const ShardResult& shard : Run(options, 3)) {
    EXPECT_EQ(shard.log->tests.at(0).images, 101);
  }
}

TEST_F(TrainerTest, ALossThatExplodesEndsAllShards) {
  TrainOptions options = Small("mlp");
  options.model.base_learning_rate = 1e6f;
  options.schedule.num_epochs = 5;
  errors_expected_ = true;
  for (const ShardResult& shard : Run(options, 2)) {
    EXPECT_NE(shard.error.find("Exploded gradients"), std::string::npos) << shard.error;
  }
}

TEST_F(TrainerTest, AStopOfOneShardEndsAllWithACheckpoint) {
  TrainOptions options = Small("mlp");
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 1000;
  const auto results = Run(options, 2, [](size_t finished) { return finished < 2 ? 0 : 15; });
  for (const ShardResult& shard : results) {
    EXPECT_EQ(shard.signal, 15);
    EXPECT_EQ(shard.log->iterations.size(), 3u);
  }
  EXPECT_TRUE(std::filesystem::exists(directory_.Path("checkpoint")));
}

TEST_F(TrainerTest, ExportedModelsPredictAndLoad) {
  TrainOptions options = Small("mlp");
  options.schedule.num_epochs = 4;
  options.output.model_path = [this](int) { return directory_.Path("model_4.mdl"); };
  options.output.keep_models = 0;
  const auto trained = Run(options);
  Workspace ws;
  const Predictor predictor = LoadPredictor(directory_.Path("model_4.mdl"), &ws);
  EXPECT_EQ(predictor.inputs, std::vector<std::string>{"data"});
  EXPECT_EQ(predictor.outputs, std::vector<std::string>{"softmax"});
  EXPECT_EQ(predictor.application_info.at("image_size"), std::to_string(kSide));
  EXPECT_TRUE(ws.RunNetOnce(predictor.net));  // on the zeros that the file makes
  EXPECT_EQ(ws.GetBlob("softmax")->Get<Tensor>().sizes(), (std::vector<int64_t>{1, kLabels}));

  options.output.load_model_path = directory_.Path("model_4.mdl");
  options.output.load_epoch = 4;
  options.output.model_path = nullptr;
  options.schedule.num_epochs = 5;
  const auto loaded = Run(options);
  EXPECT_NEAR(loaded[0].log->epochs.at(0).loss, trained[0].log->epochs.back().loss, 0.3);
  EXPECT_EQ(loaded[0].log->epochs.at(0).epoch, 4);
}

TEST_F(TrainerTest, RemovesTheModelOfTheEpochBeforeOnlyIfItWroteThat) {
  TrainOptions options = Small("mlp");
  options.schedule.num_epochs = 1;
  options.output.model_path = [this](int epoch) {
    return directory_.Path("model_" + std::to_string(epoch) + ".mdl");
  };
  const auto exists = [&](int epoch) {
    return std::filesystem::exists(options.output.model_path(epoch));
  };
  Run(options);
  ASSERT_TRUE(exists(1));

  options.output.load_model_path = options.output.model_path(1);
  options.output.load_epoch = 1;
  options.schedule.num_epochs = 4;
  Run(options);
  EXPECT_TRUE(exists(1)) << "the model that the run started from is gone";
  EXPECT_FALSE(exists(2));
  EXPECT_FALSE(exists(3));
  EXPECT_TRUE(exists(4));
}

TEST_F(TrainerTest, ARunThatEndsWithinAnEpochSavesItsModel) {
  TrainOptions options = Small("mlp");
  options.output.model_path = [this](int epoch) {
    return directory_.Path("model_" + std::to_string(epoch) + ".mdl");
  };
  options.schedule.num_epochs = 3;
  options.schedule.max_iterations = 14;  // of 10 an epoch
  const auto run = Run(options)[0];
  EXPECT_EQ(run.log->models,
            (std::vector<std::string>{options.output.model_path(1), options.output.model_path(2)}));
  EXPECT_FALSE(std::filesystem::exists(options.output.model_path(1)));
  Workspace ws;
  std::vector<float> saved;
  const Predictor predictor = LoadPredictor(options.output.model_path(2), &ws);
  for (const std::string& name : predictor.parameters) {
    const Tensor& tensor = ws.GetBlob(name)->Get<Tensor>();
    saved.insert(saved.end(), tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  EXPECT_EQ(saved, run.params);
}

TEST_F(TrainerTest, AnEpochOfManyPassesOverTheDataIsWarnedOf) {
  TrainOptions options = Small("mlp");
  options.schedule.max_iterations = 1;
  for (const int64_t size : {80, 201, 202}) {
    options.schedule.epoch_size = size;
    options.schedule.batch_size = 1;
    const testing::LogLines lines;
    Run(options);
    EXPECT_EQ(lines.Count("reads all images of --train_data 2 times: --epoch_size 0"), size == 202);
  }
}

TEST_F(TrainerTest, TrainsOnSyntheticImages) {
  TrainOptions options = Small("resnet20_cifar");
  options.data.train_data = "null";
  options.schedule.epoch_size = 24;
  EXPECT_EQ(Run(options)[0].log->iterations.size(), 3u);
}

}  // namespace
}  // namespace caffe2
