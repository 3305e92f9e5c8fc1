#include "train/shard_states.h"

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
    state->add_random_position(0);
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

TEST(ShardStatesTest, TheBatchOfAllShardsMustStay) {
  EXPECT_EQ(LayoutConflict({.num_shards = 4, .batch_size = 8}, {.num_shards = 2, .batch_size = 16}),
            "");
  EXPECT_EQ(LayoutConflict({.num_shards = 2, .batch_size = 8}, {.num_shards = 2, .batch_size = 4}),
            " batch_size (8 there, 4 now)");
  const std::string same =
      LayoutConflict({.num_shards = 4, .batch_size = 8}, {.num_shards = 2, .batch_size = 8});
  EXPECT_NE(same.find("(8 x 4 there, 8 x 2 now"), std::string::npos) << same;
  EXPECT_NE(same.find("use --batch_size 16"), std::string::npos) << same;
  const std::string odd =
      LayoutConflict({.num_shards = 4, .batch_size = 8}, {.num_shards = 3, .batch_size = 8});
  EXPECT_NE(odd.find("use a number of shards that divides 32"), std::string::npos) << odd;
}

TEST(ShardStatesTest, GoesOnWithTheNextRecord) {
  CheckpointProto checkpoint = Checkpoint({.num_shards = 2, .batch_size = 6}, {{1}, {3}}, 18);
  checkpoint.mutable_shard(1)->set_random_position(0, 7);
  const ShardLayout now = {.num_shards = 3, .num_devices = 2, .batch_size = 4};
  const ShardStateProto state = StateInLayout(checkpoint, now, 1, 3);
  EXPECT_EQ(state.data_position(), 12);  // 36 records of all shards
  EXPECT_EQ(state.computed_param_size(), 2);
  EXPECT_EQ(state.computed_param(1), 2);
  ASSERT_EQ(state.random_position_size(), 3);
  EXPECT_EQ(state.random_position(0), 7u);
  EXPECT_THROW(StateInLayout(checkpoint, {.num_shards = 5}, 1, 0), EnforceNotMet);
  checkpoint.mutable_shard(0)->set_data_position(17);
  EXPECT_THROW(StateInLayout(checkpoint, now, 1, 0), EnforceNotMet);
  EXPECT_FALSE(StateInLayout(
                   [&] {
                     CheckpointProto synthetic = checkpoint;
                     for (auto& shard : *synthetic.mutable_shard()) shard.clear_data_position();
                     return synthetic;
                   }(),
                   now, 1, 0)
                   .has_data_position());
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

TEST_F(OtherLayoutTest, RefusesAnotherBatchOfAllShards) {
  TrainOptions options = Options("mlp");
  Continue(options, 2, 3);
  errors_expected_ = true;
  options.output.resume = true;
  options.schedule.batch_size = 12;
  options.schedule.epoch_size = 24 * 6;
  for (const ShardResult& shard : Run(options, 3)) {
    EXPECT_NE(shard.error.find("use --batch_size 8"), std::string::npos) << shard.error;
  }
}

}  // namespace
}  // namespace caffe2
