#include "train/options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "caffe2/core/logging.h"
#include "db/db.h"
#include "tests/db/temporary_directory.h"
#include "tests/train/train_test_util.h"

namespace caffe2 {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() : database_(directory_.Path("train.minidb")) {
    testing::MakeImageDatabase(database_, 10, 8, 2, 1);
    options_ = testing::SmallRun(database_, "mlp", 8, 2);
  }

  void ExpectRefused(const std::string& text) const {
    try {
      Validate(options_);
      FAIL() << "accepted; expected: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  testing::TemporaryDirectory directory_;
  std::string database_;
  TrainOptions options_;
};

TEST_F(OptionsTest, AcceptsASmallRun) { EXPECT_NO_THROW(Validate(options_)); }

TEST_F(OptionsTest, EpochsAreWholeGlobalBatches) {
  options_.schedule.epoch_size = 100;
  options_.shards.num_shards = 4;
  EXPECT_EQ(options_.EpochIterations(), 3);  // 100 / (8 * 4)
}

TEST_F(OptionsTest, AnEpochSizeOfZeroIsTheDatabase) {
  options_.schedule.epoch_size = 0;
  EXPECT_NO_THROW(Validate(options_));
  EXPECT_EQ(WithEpochSize(options_).schedule.epoch_size, 10);
  options_.schedule.epoch_size = 80;
  EXPECT_EQ(WithEpochSize(options_).schedule.epoch_size, 80);
  options_.schedule.epoch_size = 0;
  options_.schedule.batch_size = 11;
  EXPECT_THROW(WithEpochSize(options_), EnforceNotMet);
  options_.data.train_data = "null";
  ExpectRefused("--epoch_size is 0");
}

TEST_F(OptionsTest, ScaleIsCaffe2sInProportion) {
  const auto scale = [&](int size) {
    options_.data.image_scale = 0;
    options_.model.shape.image_size = size;
    return options_.ImageScale();
  };
  EXPECT_EQ(scale(227), 256);
  EXPECT_EQ(scale(224), 256);
  EXPECT_EQ(scale(28), 32);
  EXPECT_EQ(scale(454), 512);
  options_.data.image_scale = 300;
  EXPECT_EQ(options_.ImageScale(), 300);
}

TEST_F(OptionsTest, UnknownWordsGetASuggestion) {
  options_.model.lr_policy = "cos";
  ExpectRefused("--lr_policy is cos; known: step poly cosine fixed; did you mean cosine?");
  options_.model.lr_policy = "step";
  options_.model.network = "ResNet18";
  ExpectRefused("; did you mean resnet18?");
  options_.model.network = "LeNet";
  ExpectRefused("; did you mean lenet?");
}

TEST_F(OptionsTest, RefusesValuesThatCannotWork) {
  options_.model.lr_factor = 0;
  ExpectRefused("--lr_factor is 0, must be positive");
  options_.model.lr_factor = 0.1f;
  options_.shards.num_threads = -1;
  ExpectRefused("--num_threads is -1, must not be negative");
}

TEST_F(OptionsTest, ShardsMustBeInRangeAndNamed) {
  options_.shards.num_shards = 2;
  ExpectRefused("--run_id");
  options_.shards.run_id = "run";
  options_.shards.shard_id = 2;
  ExpectRefused("--shard_id is 2");
  options_.shards.shard_id = -1;
  ExpectRefused("--shard_id is -1");
  options_.shards.num_shards = 0;
  ExpectRefused("--num_shards is 0");
}

TEST_F(OptionsTest, DatabasesMustBeThereAndHoldImages) {
  options_.data.train_data = "";
  ExpectRefused("--train_data");
  options_.data.train_data = directory_.Path("none");
  ExpectRefused(directory_.Path("none"));
  options_.data.train_data = database_;
  options_.data.db_type = "lmdb";
  ExpectRefused(database_);
  options_.data.db_type = "nodb";
  ExpectRefused("nodb");
  const std::string other = directory_.Path("other.minidb");
  {
    const auto database = db::CreateDB("minidb", other, db::NEW);
    const auto transaction = database->NewTransaction();
    transaction->Put("key", "no image");
    transaction->Commit();
    database->Close();
  }
  options_.data.db_type = "minidb";
  options_.data.test_data = other;
  ExpectRefused("neither a Datum nor a TensorProtos");
}

TEST_F(OptionsTest, LocalSgdHasLimits) {
  options_.schedule.block_momentum = 0.5f;
  ExpectRefused("need --sync_every");
  options_.schedule.block_momentum = 0;
  options_.schedule.block_learning_rate = 0.5f;
  ExpectRefused("need --sync_every");
  options_.schedule.sync_every = 4;
  EXPECT_NO_THROW(Validate(options_));
  options_.schedule.block_learning_rate = 0;
  ExpectRefused("--block_learning_rate is 0");
  options_.schedule.block_learning_rate = 1;
  options_.schedule.block_momentum = 1;
  ExpectRefused("--block_momentum is 1");
  options_.schedule.block_momentum = 0.9f;
  options_.output.checkpoint_path = directory_.Path("checkpoint");
  options_.output.checkpoint_every = 6;
  ExpectRefused("--checkpoint_every 6 is not a multiple of --sync_every 4");
  options_.output.checkpoint_every = 8;
  EXPECT_NO_THROW(Validate(options_));
  options_.schedule.sync_every = -1;
  ExpectRefused("--sync_every is -1");
}

TEST_F(OptionsTest, PaddingIsSmallerThanTheCrop) {
  options_.data.image_pad = options_.model.shape.image_size - 1;
  EXPECT_NO_THROW(Validate(options_));
  options_.data.random_resized_crop = true;
  ExpectRefused("--image_pad and --random_resized_crop");
  options_.data.random_resized_crop = false;
  options_.data.image_pad = options_.model.shape.image_size;
  ExpectRefused("less than --image_size");
  options_.data.image_pad = -1;
  ExpectRefused("--image_pad is -1");
}

TEST_F(OptionsTest, TestsTakeAShareOfTheTrainingData) {
  options_.data.holdout = 0.2f;
  EXPECT_NO_THROW(Validate(options_));
  options_.data.test_data = database_;
  options_.output.keep_best = true;
  options_.output.model_path = [this](int) { return directory_.Path("model"); };
  EXPECT_NO_THROW(Validate(options_));
  options_.schedule.epoch_size = 0;
  options_.schedule.batch_size = 2;
  EXPECT_EQ(WithEpochSize(options_).schedule.epoch_size, 8);
  options_.schedule.batch_size = 9;
  try {
    WithEpochSize(options_);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("8 images that --holdout leaves for training"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(OptionsTest, TheShareForTestsMakesSense) {
  options_.data.holdout = 1;
  ExpectRefused("--holdout is 1, must be at least 0 and below 1");
  options_.data.holdout = -0.1f;
  ExpectRefused("--holdout is -0.1");
  options_.data.holdout = 0.1f;
  options_.data.test_data = directory_.Path("test.minidb");
  testing::MakeImageDatabase(options_.data.test_data, 10, 8, 2, 2);
  ExpectRefused("--holdout and --test_data cannot be used together");
  options_.data.test_data = "";
  options_.data.train_data = directory_.Path("one.minidb");
  testing::MakeImageDatabase(options_.data.train_data, 1, 8, 2, 2);
  ExpectRefused("--holdout needs at least two images");
  options_.data.train_data = "null";
  ExpectRefused("--holdout needs a database as --train_data");
}

TEST_F(OptionsTest, ResidentDataIsForGpus) {
  options_.data.resident_data = true;
  ExpectRefused("--resident_data needs GPUs and --use_gpu_transform");
  options_.data.random_resized_crop = true;
  ExpectRefused("--resident_data and --random_resized_crop");
  options_.data.random_resized_crop = false;
  options_.data.max_bad_records = 1;
  ExpectRefused("--resident_data and --max_bad_records");
}

TEST_F(OptionsTest, GpusDecodeWhatDoesNotStayThere) {
  options_.data.decode_on_gpu = true;
  ExpectRefused("--decode_on_gpu needs GPUs and --use_gpu_transform");
  options_.data.resident_data = true;
  ExpectRefused("--decode_on_gpu and --resident_data cannot be used together");
}

TEST_F(OptionsTest, SizesMustFit) {
  options_.schedule.epoch_size = 7;
  ExpectRefused("--epoch_size 7");
  options_.schedule.batch_size = 0;
  ExpectRefused("--batch_size");
  options_.schedule.batch_size = 8;
  options_.schedule.epoch_size = 8;
  options_.model.shape.num_channels = 2;
  ExpectRefused("--num_channels");
  options_.model.shape.num_channels = 1;
  options_.model.network = "resnet51";
  ExpectRefused("resnet50");
  options_.model.network = "mlp";
  options_.model.dtype = "float8";
  ExpectRefused("bfloat16");
}

TEST_F(OptionsTest, NamesMustBeKnown) {
  options_.model.lr_policy = "cosines";
  ExpectRefused("--lr_policy is cosines");
}

TEST_F(OptionsTest, StepsComeAfterTheWarmupAndAscend) {
  options_.model.lr_steps = {3, 6};
  EXPECT_NO_THROW(Validate(options_));
  options_.model.warmup_epochs = 3;
  ExpectRefused("--lr_steps has 3, which must come after 3, the end of --warmup_epochs");
  options_.model.warmup_epochs = 0;
  options_.model.lr_steps = {6, 6};
  ExpectRefused("--lr_steps has 6, which must come after 6");
  options_.model.lr_policy = "cosine";
  ExpectRefused("--lr_steps needs --lr_policy step, found cosine");
}

TEST_F(OptionsTest, ChannelsHaveOneMeanOrEachTheirs) {
  options_.data.mean = {1, 2, 3};
  ExpectRefused("--mean has 3 values; give one, or 1 for --num_channels 1");
  options_.data.mean = {1};
  options_.data.std = {0};
  ExpectRefused("--std is 0, must be positive");
  options_.data.std = {1};
  options_.model.label_smoothing = 1;
  ExpectRefused("--label_smoothing is 1, must be at least 0 and below 1");
}

TEST_F(OptionsTest, EachClassHasAWeight) {
  std::vector<float>& weights = options_.model.class_weights;
  options_.model.shape.num_labels = 3;
  weights = {1, 2};
  ExpectRefused("--class_weights has 2 numbers; give one for each of the 3 classes");
  weights = {1, -2, 1};
  ExpectRefused("--class_weights has -2; weights must be finite and not negative");
  weights = {0, 0, 0};
  ExpectRefused("--class_weights has no positive number");
  weights = {1, 2, 0};
  options_.model.cutmix = 1;
  ExpectRefused("--class_weights cannot be used together with --mixup or --cutmix");
  options_.model.cutmix = 0;
  Validate(options_);
}

TEST_F(OptionsTest, ImagesAreMixedWithOthers) {
  options_.model.mixup = 0.2f;
  options_.model.cutmix = 1;
  EXPECT_NO_THROW(Validate(options_));
  options_.model.mixup = -1;
  ExpectRefused("--mixup is -1, must be finite and not negative");
  options_.model.mixup = 0;
  options_.model.cutmix = std::numeric_limits<float>::infinity();
  ExpectRefused("--cutmix is inf, must be finite and not negative");
  options_.model.cutmix = 1;
  options_.devices.assign(8, Device{});
  ExpectRefused("--batch_size 8 has only one image for each device");
  options_.model.cutmix = 0;
  EXPECT_NO_THROW(Validate(options_));
}

TEST_F(OptionsTest, ErasingHasAProbability) {
  options_.data.random_erasing = 1;
  EXPECT_NO_THROW(Validate(options_));
  options_.data.random_erasing = 1.5f;
  ExpectRefused("--random_erasing is 1.5, must be from 0 to 1");
}

TEST_F(OptionsTest, MovingAveragesHaveADecayAndUpdatesInOrder) {
  options_.model.ema_decay = 1;
  ExpectRefused("--ema_decay is 1, must be at least 0 and below 1");
  options_.model.ema_decay = 0.99;
  options_.model.ema_every = 0;
  ExpectRefused("--ema_every is 0, must be positive");
  options_.model.ema_every = 1;
  options_.shards.num_servers = 1;
  options_.shards.run_id = "averages";
  ExpectRefused("--param_servers and --ema_decay cannot be used together");
}

TEST_F(OptionsTest, FrozenPrefixesHaveNames) {
  options_.model.freeze = {"conv1", ""};
  ExpectRefused("--freeze has an empty prefix");
  options_.model.freeze = {"conv1", "all_but_last"};
  ExpectRefused("--freeze has all_but_last beside other prefixes; give it alone");
  options_.model.freeze = {"all_but_last"};
  EXPECT_NO_THROW(Validate(options_));
}

TEST_F(OptionsTest, LarsNeedsTrust) {
  options_.model.optimizer = "lars";
  EXPECT_NO_THROW(Validate(options_));
  options_.model.lars_trust = 0;
  ExpectRefused("--lars_trust is 0, must be positive");
}

TEST_F(OptionsTest, ClippingNeedsALimitAndAllGradients) {
  options_.model.clip_gradients = -1;
  ExpectRefused("--clip_gradients is -1, must be finite and not negative");
  options_.model.clip_gradients = 1;
  EXPECT_NO_THROW(Validate(options_));
  options_.model.half_gradients = true;
  ExpectRefused("--clip_gradients and --half_gradients cannot be used together");
  options_.model.half_gradients = false;
  options_.shards.num_servers = 1;
  options_.shards.run_id = "clipped";
  options_.shards.max_staleness = 1;
  EXPECT_NO_THROW(Validate(options_));
  options_.shards.max_staleness = 0;
  ExpectRefused("--clip_gradients and --max_staleness 0 cannot be used together");
}

TEST_F(OptionsTest, DirectoriesMustBeWritable) {
  options_.output.model_path = [](int) { return std::string("/nonexistent/model.mdl"); };
  ExpectRefused("/nonexistent");
  options_.output.model_path = [this](int) { return database_ + "/model.mdl"; };
  ExpectRefused("is not a directory");
  options_.output.model_path = [](int) { return std::string("/proc/self/../model.mdl"); };
  ExpectRefused("cannot write to directory /proc: ");
  ExpectRefused("; start in a folder that you can write to, or name one with the file");
  options_.output.model_path = nullptr;
  options_.output.resume = true;
  options_.output.checkpoint_path = directory_.Path("none");
  ExpectRefused("--resume");
}

TEST_F(OptionsTest, ResumesFromAnyKeptCheckpoint) {
  options_.output.resume = true;
  options_.output.checkpoint_path = directory_.Path("kept");
  options_.output.keep_checkpoints = 3;
  std::ofstream(directory_.Path("kept.3")) << "older than the kept ones";
  ExpectRefused("cannot read checkpoint");
  std::ofstream(directory_.Path("kept.2")) << "a checkpoint";
  EXPECT_NO_THROW(Validate(options_));
}

}  // namespace
}  // namespace caffe2
