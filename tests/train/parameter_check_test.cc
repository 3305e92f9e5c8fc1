#include "train/parameter_check.h"

#include "caffe2/core/exit_code.h"
#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

using Odd = std::vector<int>;

TEST(FindDifferenceTest, NamesTheShardsAgainstTheMajority) {
  EXPECT_EQ(FindDifference({{1, 2}, {1, 2}}).blob, -1);
  const ShardDifference one = FindDifference({{1, 2, 3}, {1, 5, 4}, {1, 2, 3}});
  EXPECT_EQ(one.blob, 1);
  EXPECT_EQ(one.odd, Odd{1});
  EXPECT_EQ(FindDifference({{1}, {2}, {3}, {1}, {1}}).odd, (Odd{1, 2}));
}

TEST(FindDifferenceTest, NamesNobodyWithoutAMajority) {
  const ShardDifference two = FindDifference({{1, 2}, {1, 3}});
  EXPECT_EQ(two.blob, 1);
  EXPECT_EQ(two.odd, Odd{});
  EXPECT_EQ(FindDifference({{1}, {1}, {2}, {2}}).odd, Odd{});
  EXPECT_EQ(FindDifference({{1}, {2}, {3}}).odd, Odd{});
}

class ParameterCheckTest : public TrainerTest {
 protected:
  // One shard flips the signs of a parameter's second half after its third iteration.
  std::vector<ShardResult> RunWithFlippedSigns(int num_shards, int64_t check_every) {
    errors_expected_ = true;
    on_iteration_ = [](Trainer* trainer, int shard) {
      if (shard != 1 || trainer->progress().total_iterations != 3) return;
      const TrainNets& nets = trainer->nets();
      Tensor* param =
          trainer->workspace()->GetBlob(nets.scope + nets.params[2])->GetMutable<Tensor>();
      for (int64_t i = param->numel() / 2; i < param->numel(); ++i) {
        param->mutable_data<float>()[i] *= -1;
      }
    };
    TrainOptions options = Small("mlp");
    options.schedule.epoch_size = 240;
    options.schedule.check_parameters_every = check_every;
    return Run(options, num_shards);
  }
};

TEST_F(ParameterCheckTest, TheShardWithFlippedSignsIsNamedOnAllShards) {
  const std::vector<ShardResult> shards = RunWithFlippedSigns(3, 4);
  for (const ShardResult& shard : shards) {
    EXPECT_EQ(shard.error, shards[0].error);
    EXPECT_EQ(shard.exit_code, static_cast<int>(ExitCode::kDisagreement));
  }
  const std::string& error = shards[0].error;
  EXPECT_NE(error.find("shard=1 "), std::string::npos) << error;
  EXPECT_NE(error.find("differ after iteration 4: shard 1 ("), std::string::npos) << error;
  EXPECT_NE(error.find("against 2 equal shards; the first difference is in cpu_0/"),
            std::string::npos)
      << error;
}

TEST_F(ParameterCheckTest, OfTwoShardsBothAreNamed) {
  const std::vector<ShardResult> shards = RunWithFlippedSigns(2, 2);
  EXPECT_EQ(shards[0].error, shards[1].error);
  EXPECT_NE(shards[0].error.find("after iteration 4: shard 0 ("), std::string::npos)
      << shards[0].error;
  EXPECT_NE(shards[0].error.find(", shard 1 ("), std::string::npos) << shards[0].error;
  EXPECT_EQ(shards[1].exit_code, static_cast<int>(ExitCode::kDisagreement));
}

TEST_F(ParameterCheckTest, HealthyRunsPassAndMayCheckNever) {
  TrainOptions options = Small("mlp");
  options.schedule.check_parameters_every = 1;
  const std::string checked = Run(options, 3)[0].state;
  options.schedule.check_parameters_every = 0;
  EXPECT_EQ(Run(options, 3)[0].state, checked);
}

// Between two averages the parameters differ, and nothing is compared.
TEST_F(ParameterCheckTest, LocalSgdIsCheckedAfterItsAverages) {
  TrainOptions options = Small("mlp");
  options.schedule.sync_every = 4;
  options.schedule.check_parameters_every = 3;
  const std::vector<ShardResult> shards = Run(options, 3);
  EXPECT_EQ(shards[0].state, shards[2].state);
}

}  // namespace
}  // namespace caffe2
