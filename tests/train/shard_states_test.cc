#include "train/shard_states.h"

#include <cstdint>
#include <filesystem>

#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

CheckpointProto Checkpoint(const ShardLayout& layout, const std::vector<std::vector<float>>& states,
                           int64_t position) {
  CheckpointProto checkpoint;
  for (const auto& [name, value] :
       {std::pair("num_shards", layout.num_shards), std::pair("num_devices", layout.num_devices),
        std::pair("batch_size", layout.batch_size)}) {
    SettingProto* setting = checkpoint.add_setting();
    setting->set_name(name);
    setting->set_value(std::to_string(value));
  }
  for (const std::vector<float>& values : states) {
    ShardStateProto* state = checkpoint.add_shard();
    *state->mutable_computed_param() = {values.begin(), values.end()};
    state->set_data_position(position);
  }
  return checkpoint;
}

TEST(ShardStatesTest, StatisticsAreMeansOfShardsAndReplicas) {
  const CheckpointProto checkpoint = Checkpoint({}, {{1, 10, 2, 20}, {6, 60}}, 0);
  EXPECT_EQ(MeanStatistics(checkpoint, 2), (std::vector<float>{3, 30}));
  EXPECT_THROW(MeanStatistics(checkpoint, 4), EnforceNotMet);
  EXPECT_THROW(MeanStatistics(checkpoint, 0), EnforceNotMet);
}

TEST(ShardStatesTest, LayoutsAreReadFromSettings) {
  const ShardLayout layout = {.num_shards = 3, .num_devices = 2, .batch_size = 8};
  EXPECT_EQ(LayoutOf(Checkpoint(layout, {}, 0)), layout);
  for (const std::string& bad : {std::string(), std::string("x"), std::string("0")}) {
    CheckpointProto checkpoint = Checkpoint(layout, {}, 0);
    checkpoint.mutable_setting(1)->set_value(bad);
    EXPECT_THROW(LayoutOf(checkpoint), EnforceNotMet) << bad;
  }
  EXPECT_THROW(LayoutOf(CheckpointProto()), EnforceNotMet);
}

TEST(ShardStatesTest, TheBatchOfAllShardsOrOfEachMustStay) {
  const ShardLayout there = {.num_shards = 4, .batch_size = 8};
  for (const bool may_change : {false, true}) {
    EXPECT_EQ(LayoutConflict(there, {.num_shards = 2, .batch_size = 16}, may_change), "");
    EXPECT_EQ(LayoutConflict(there, {.num_shards = 4, .batch_size = 4}, may_change),
              " batch_size (8 there, 4 now)");
    const std::string both = LayoutConflict(there, {.num_shards = 2, .batch_size = 10}, may_change);
    EXPECT_NE(both.find("use --batch_size 16, or --resume auto with --batch_size 8"),
              std::string::npos)
        << both;
  }
  EXPECT_EQ(LayoutConflict(there, {.num_shards = 3, .batch_size = 8}, true), "");
  EXPECT_EQ(LayoutConflict(there, {.num_shards = 5, .batch_size = 8}, true), "");
  const std::string same = LayoutConflict(there, {.num_shards = 2, .batch_size = 8}, false);
  EXPECT_NE(same.find("(8 x 4 there, 8 x 2 now"), std::string::npos) << same;
  EXPECT_NE(same.find("use --batch_size 16, or --resume auto to go on with 16"), std::string::npos)
      << same;
  const std::string odd = LayoutConflict(there, {.num_shards = 3, .batch_size = 8}, false);
  EXPECT_NE(odd.find("use a number of shards that divides 32"), std::string::npos) << odd;
}

TEST(ShardStatesTest, CountsTheImagesOfTheEpoch) {
  CheckpointProto checkpoint = Checkpoint({.num_shards = 4, .batch_size = 8}, {}, 0);
  checkpoint.set_epoch_iterations_done(3);
  EXPECT_EQ(EpochImages(checkpoint), 96);  // as old checkpoints are
  checkpoint.set_epoch_images(80);
  EXPECT_EQ(EpochImages(checkpoint), 80);
  for (const int64_t bad : {int64_t{-1}, INT64_MAX}) {
    checkpoint.set_epoch_images(bad);
    EXPECT_THROW(EpochImages(checkpoint), EnforceNotMet);
    checkpoint.clear_epoch_images();
    checkpoint.set_epoch_iterations_done(bad);
    EXPECT_THROW(EpochImages(checkpoint), EnforceNotMet);
    checkpoint.set_epoch_iterations_done(3);
    checkpoint.set_rate_offset(bad == -1 ? INT64_MIN + 1 : bad);
    EXPECT_THROW(RateOffset(checkpoint, 1000, {.batch_size = 8}), EnforceNotMet);
    checkpoint.clear_rate_offset();
  }
}

// 1000 images are 31 iterations of 32 or 41 of 24.
TEST(ShardStatesTest, TheScheduleGoesOnAtTheSamePartOfTheEpoch) {
  CheckpointProto checkpoint = Checkpoint({.num_shards = 4, .batch_size = 8}, {}, 0);
  checkpoint.set_epoch(2);
  checkpoint.set_epoch_iterations_done(10);
  const ShardLayout three = {.num_shards = 3, .batch_size = 8};
  EXPECT_EQ(RateOffset(checkpoint, 1000, {.num_shards = 2, .batch_size = 16}), 0);
  // 680 images are left: 28 iterations. The counter is at 2 * 31 + 10.
  EXPECT_EQ(RateOffset(checkpoint, 1000, three), (3 * 41 - 28) - (2 * 31 + 10));
  checkpoint.set_rate_offset(-7);
  EXPECT_EQ(RateOffset(checkpoint, 1000, three), (3 * 41 - 28) - (2 * 31 + 10) - 7);
  checkpoint.set_epoch_images(1000);
  EXPECT_EQ(RateOffset(checkpoint, 1000, three), 3 * 41 - 3 * 31 - 7);
}

TEST(ShardStatesTest, GoesOnWithTheNextRecord) {
  CheckpointProto checkpoint = Checkpoint({.num_shards = 2, .batch_size = 6}, {{1}, {3}}, 18);
  const ShardLayout now = {.num_shards = 3, .num_devices = 2, .batch_size = 4};
  const ShardStateProto state = StateInLayout(checkpoint, now, 1);
  EXPECT_EQ(state.data_position(), 12);  // 36 records of all shards
  EXPECT_EQ(state.computed_param_size(), 2);
  EXPECT_EQ(state.computed_param(1), 2);
  EXPECT_EQ(state.data_offset(), 0);
  const ShardStateProto of_five = StateInLayout(checkpoint, {.num_shards = 5}, 1);
  EXPECT_EQ(of_five.data_position(), 7);
  EXPECT_EQ(of_five.data_offset(), 1);
  for (auto& shard : *checkpoint.mutable_shard()) shard.set_data_offset(1);
  EXPECT_EQ(StateInLayout(checkpoint, {.num_shards = 5}, 1).data_offset(), 2);  // 37 records
  for (const auto& [position, offset] :
       {std::pair<int64_t, int64_t>(18, 2), {18, -1}, {-1, 0}, {INT64_MAX, 0}}) {
    CheckpointProto damaged = checkpoint;
    for (auto& shard : *damaged.mutable_shard()) {
      shard.set_data_position(position);
      shard.set_data_offset(offset);
    }
    EXPECT_THROW(StateInLayout(damaged, now, 1), EnforceNotMet) << position << " " << offset;
  }
  checkpoint.mutable_shard(0)->set_data_position(17);
  EXPECT_THROW(StateInLayout(checkpoint, now, 1), EnforceNotMet);
  EXPECT_FALSE(StateInLayout(
                   [&] {
                     CheckpointProto synthetic = checkpoint;
                     for (auto& shard : *synthetic.mutable_shard()) shard.clear_data_position();
                     return synthetic;
                   }(),
                   now, 1)
                   .has_data_position());
}

TEST(ShardStatesTest, SaysWhatHappensToBatchAndRate) {
  CheckpointProto checkpoint = Checkpoint({.num_shards = 4, .batch_size = 8}, {{}, {}, {}, {}}, 2);
  const auto add = [&](const char* name, const char* value) {
    SettingProto* setting = checkpoint.add_setting();
    setting->set_name(name);
    setting->set_value(value);
  };
  add("base_learning_rate", "0.1");
  const ShardLayout three = {.num_shards = 3, .batch_size = 8};
  const std::string stays = DescribeOtherLayout(checkpoint, three);
  EXPECT_NE(
      stays.find("from 4 shards of 1 replicas, this run has 3 of 1. The same images follow in "
                 "the same order, 24 in each iteration instead of 32; the base learning rate "
                 "stays 0.1 "),
      std::string::npos)
      << stays;
  EXPECT_NE(stays.find("not the same to the bit"), std::string::npos) << stays;
  add("lr_batch_size", "64");
  const std::string scaled = DescribeOtherLayout(checkpoint, three);
  EXPECT_NE(scaled.find("changes from 0.05 to 0.0375 (--lr_batch_size 64)"), std::string::npos)
      << scaled;
  const std::string same = DescribeOtherLayout(checkpoint, {.num_shards = 2, .batch_size = 16});
  EXPECT_EQ(same.find("instead of"), std::string::npos) << same;
  EXPECT_EQ(same.find("learning rate"), std::string::npos) << same;
}

// A network without running statistics and random numbers, whose shards only divide the batch.
class OtherLayoutTest : public TrainerTest {
 protected:
  TrainOptions Options(const std::string& network) const {
    TrainOptions options = Small(network);
    options.data.shuffle = true;
    options.data.mirror = true;
    options.data.image_scale = kSide + 3;
    options.schedule.batch_size = 24;
    options.schedule.epoch_size = 24 * 6;
    options.schedule.num_epochs = 100;
    options.schedule.max_iterations = 20;
    options.model.lr_step_epochs = 1;
    options.model.lr_factor = 0.7f;
    options.output.checkpoint_path = directory_.Path("checkpoint");
    return options;
  }

  // Trains for `iterations`, resuming if the last call left a checkpoint.
  std::vector<ShardResult> Continue(TrainOptions options, int shards, int iterations,
                                    int devices = 1) {
    options.schedule.batch_size = 24 / shards;
    options.devices.resize(static_cast<size_t>(devices));
    options.schedule.max_iterations = iterations;
    options.output.checkpoint_every = 1000;
    options.output.auto_resume = true;
    return Run(options, shards);
  }
};

TEST_F(OtherLayoutTest, SeesTheSameImagesInTheSameOrder) {
  const TrainOptions options = Options("mlp");
  const auto whole = Run(options)[0].log->iterations;
  std::vector<double> losses;
  int done = 0;
  for (const auto& [shards, iterations] : {std::pair(2, 4), {3, 9}, {1, 13}, {4, 20}}) {
    const auto results = Continue(options, shards, iterations, shards == 3 ? 2 : 1);
    for (const ShardResult& shard : results) {
      ASSERT_EQ(shard.log->iterations.size(), static_cast<size_t>(iterations - done));
    }
    for (const IterationReport& report : results[0].log->iterations) losses.push_back(report.loss);
    done = iterations;
  }
  ASSERT_EQ(losses.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(losses[i], whole[i].loss, 1e-5 * static_cast<double>(i + 1)) << i;
  }
}

// The same layout keeps the bits, whatever the checkpoints before were of.
TEST_F(OtherLayoutTest, ShardsShareTheMeanOfTheStatistics) {
  const TrainOptions options = Options("resnet20_cifar");
  Continue(options, 2, 3);
  const auto four = Continue(options, 4, 3);  // no iteration: the state is as it was restored
  const auto one = Continue(options, 1, 3);
  for (const ShardResult& shard : four) EXPECT_EQ(shard.state, one[0].state);
}

// Runs in which each shard keeps its batch of 8 when their number changes.
class OtherBatchTest : public OtherLayoutTest {
 protected:
  static constexpr int kBatch = 8, kEpoch = 150;

  TrainOptions Options() const {
    TrainOptions options = OtherLayoutTest::Options("mlp");
    options.schedule.batch_size = kBatch;
    options.schedule.epoch_size = kEpoch;
    options.schedule.num_epochs = 4;
    return options;
  }

  // Goes on to iteration `until`, or to the end of the run.
  std::vector<ShardResult> GoOn(TrainOptions options, int shards, int until) {
    options.schedule.max_iterations = until;
    options.output.checkpoint_every = 1000;
    options.output.auto_resume = true;
    return Run(options, shards);
  }

  static void Append(const std::vector<ShardResult>& results, Recorder* all) {
    const Recorder& log = *results[0].log;
    all->iterations.insert(all->iterations.end(), log.iterations.begin(), log.iterations.end());
    all->epochs.insert(all->epochs.end(), log.epochs.begin(), log.epochs.end());
  }
};

// With a rate of almost zero the parameters stay, so the loss of an iteration is the mean of the
// losses that its images have by themselves.
TEST_F(OtherBatchTest, EachImageIsSeenOnceInTheSameOrder) {
  TrainOptions options = Options();
  options.model.base_learning_rate = 1e-20f;
  TrainOptions single = options;
  single.schedule.batch_size = 1;
  single.schedule.max_iterations = 0;
  std::vector<double> losses;
  const auto log = Run(single)[0].log;
  for (const IterationReport& image : log->iterations) losses.push_back(image.loss);

  Recorder all;
  // Epoch 0 has 2 iterations of 32 images and 3 of 24, epoch 1 has 4 of 24, 2 of 16 and 2 of 8.
  for (const auto& [shards, until] : {std::pair(4, 2), {3, 9}, {2, 11}, {1, 30}}) {
    Append(GoOn(options, shards, until), &all);
  }
  ASSERT_EQ(all.iterations.size(), 30u);
  size_t image = 0;
  for (size_t i = 0; i < all.iterations.size(); ++i) {
    const size_t batch = i < 2 ? 32 : i < 9 ? 24 : i < 11 ? 16 : 8;
    ASSERT_LE(image + batch, losses.size());
    double mean = 0;
    for (size_t k = 0; k < batch; ++k) mean += losses[image + k] / static_cast<double>(batch);
    EXPECT_NEAR(all.iterations[i].loss, mean, 1e-5) << i;
    image += batch;
  }
}

TEST_F(OtherBatchTest, EpochsAndTheScheduleCountImages) {
  TrainOptions options = Options();
  options.model.base_learning_rate = 0.01f;
  options.model.lr_policy = "poly";
  options.model.lr_batch_size = 64;
  Recorder all;
  Append(GoOn(options, 4, 2), &all);
  Append(GoOn(options, 3, 0), &all);
  // 150 images: 2 iterations of 32 and 3 of 24 in epoch 0, 6 of 24 in each other one.
  ASSERT_EQ(all.iterations.size(), 2u + 3 + 3 * 6);
  ASSERT_EQ(all.epochs.size(), 5u);  // the first is the part before the run was interrupted
  EXPECT_EQ(all.epochs[0].images, 64);
  EXPECT_EQ(all.epochs[1].images, 136);
  for (size_t epoch = 2; epoch < 5; ++epoch) EXPECT_EQ(all.epochs[epoch].images, 144);
  for (size_t i = 0; i < all.iterations.size(); ++i) {
    const IterationReport& report = all.iterations[i];
    const int64_t per_epoch = i < 2 ? 4 : 6;
    EXPECT_EQ(report.epoch_iterations, i < 2 ? 4 : i < 5 ? 5 : 6) << i;
    EXPECT_EQ(report.epoch, i < 5 ? 0 : 1 + static_cast<int>(i - 5) / 6) << i;
    // The counter begins at 1. Epoch 0 ends with the sixth iteration of 24, of which 3 were left.
    const int64_t at = i < 2 ? static_cast<int64_t>(i) + 1 : static_cast<int64_t>(i) + 2;
    const double base = 0.01 * (i < 2 ? 32 : 24) / 64;
    EXPECT_NEAR(report.learning_rate,
                base * (1 - static_cast<double>(at) / static_cast<double>(4 * per_epoch)), 1e-7)
        << i;
  }
}

// The new batch is larger than what is left of the epoch.
TEST_F(OtherBatchTest, AnEpochMayEndWithTheResume) {
  TrainOptions options = Options();
  GoOn(options, 1, 17);  // 136 images
  const auto results = GoOn(options, 3, 20);
  const Recorder& log = *results[0].log;
  ASSERT_EQ(log.epochs.size(), 2u);
  EXPECT_EQ(log.epochs[0].images, 136);
  ASSERT_EQ(log.iterations.size(), 3u);
  for (const IterationReport& report : log.iterations) EXPECT_EQ(report.epoch, 1);
}

TEST_F(OtherBatchTest, TheSameLayoutContinuesToTheBitAfterAChange) {
  TrainOptions options = Options();
  options.model.optimizer = "adam";
  GoOn(options, 4, 2);
  const std::string path = options.output.checkpoint_path;
  std::filesystem::copy_file(path, path + ".four");
  const auto whole = GoOn(options, 3, 13);
  std::filesystem::rename(path + ".four", path);
  GoOn(options, 3, 4);
  GoOn(options, 3, 7);
  const auto parts = GoOn(options, 3, 13);
  for (size_t shard = 0; shard < 3; ++shard) EXPECT_EQ(parts[shard].state, whole[shard].state);
}

TEST_F(OtherBatchTest, IsRefusedUnlessResumeIsAutomatic) {
  TrainOptions options = Options();
  GoOn(options, 2, 3);
  errors_expected_ = true;
  TrainOptions other = options;
  other.schedule.batch_size = 6;
  for (const ShardResult& shard : GoOn(other, 2, 5)) {
    EXPECT_NE(shard.error.find("batch_size (8 there, 6 now)"), std::string::npos) << shard.error;
  }
  options.output.resume = true;
  for (const ShardResult& shard : Run(options, 3)) {
    EXPECT_NE(shard.error.find("--resume auto to go on with 24"), std::string::npos) << shard.error;
  }
}

}  // namespace
}  // namespace caffe2
