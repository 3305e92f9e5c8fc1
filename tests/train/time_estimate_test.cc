#include "train/time_estimate.h"

#include <csignal>
#include <filesystem>

#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

class TimeEstimateTest : public TrainerTest {};

TEST_F(TimeEstimateTest, MeasuresOneShardAndCountsTheIterationsOfAll) {
  TrainOptions options = Small("mlp");
  options.shards.num_shards = 3;  // of which none else is there
  options.shards.shard_id = 0;
  options.shards.run_id = "estimate";
  options.schedule.num_epochs = 40;
  options.output.model_path = [this](int) { return directory_.Path("model"); };
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 1;
  const TimeEstimate estimate = EstimateTime(options, /*max_seconds=*/1e9, nullptr);
  EXPECT_GE(estimate.measured, 20);
  EXPECT_LE(estimate.measured, 22);
  EXPECT_GT(estimate.iteration_seconds, 0);
  EXPECT_EQ(estimate.iterations, 40 * options.EpochIterations());
  EXPECT_DOUBLE_EQ(estimate.Seconds(),
                   estimate.iteration_seconds * 40.0 * options.EpochIterations());
  EXPECT_FALSE(std::filesystem::exists(directory_.Path("checkpoint")));
  EXPECT_FALSE(std::filesystem::exists(directory_.Path("model")));
}

TEST_F(TimeEstimateTest, EndsAtTheLimits) {
  TrainOptions options = Small("mlp");
  options.schedule.epoch_size = 0;  // all of the database
  options.schedule.num_epochs = 1000;
  options.schedule.max_iterations = 7;
  TimeEstimate estimate = EstimateTime(options, /*max_seconds=*/0, nullptr);
  EXPECT_LE(estimate.measured, 2);
  EXPECT_EQ(estimate.iterations, 7);
  estimate = EstimateTime(options, /*max_seconds=*/1e9, [] { return SIGINT; });
  EXPECT_EQ(estimate.measured, 0);
}

}  // namespace
}  // namespace caffe2
