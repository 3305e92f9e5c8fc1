// What the options of the optimizer do to the parameters.
#include "train/train_nets.h"

#include <cmath>

#include "tests/train/trainer_fixture.h"

namespace caffe2 {
namespace {

class TrainNetsTest : public TrainerTest {
 protected:
  // Plain SGD without momentum, decay and a falling rate: each step is -rate x gradient.
  TrainOptions Plain() const {
    TrainOptions options = Small("mlp");
    options.model.momentum = 0;
    options.model.weight_decay = 0;
    options.model.lr_policy = "fixed";
    return options;
  }

  std::vector<float> ParamsAfter(TrainOptions options, int iterations) {
    if (iterations == 0) options.schedule.num_epochs = 0;
    options.schedule.max_iterations = iterations;
    return Run(options)[0].params;
  }

  // The same parameters to the bit after a stop in the middle and a resume, of one shard and of
  // two.
  void ExpectContinuesToTheBit(TrainOptions options) {
    for (const int shards : {1, 2}) {
      SCOPED_TRACE(shards);
      TrainOptions run = options;
      run.schedule.max_iterations = 5;
      run.schedule.batch_size = 8 / shards;
      const auto whole = Run(run, shards);
      run.output.checkpoint_path = directory_.Path("middle" + std::to_string(runs()));
      run.output.checkpoint_every = 100;  // and at the end
      run.schedule.max_iterations = 3;
      EXPECT_NE(Run(run, shards)[0].state, whole[0].state);
      run.output.resume = true;
      run.schedule.max_iterations = 5;
      const auto resumed = Run(run, shards);
      for (int shard = 0; shard < shards; ++shard) {
        EXPECT_EQ(resumed[shard].state, whole[shard].state);
      }
    }
  }

  void ExpectNear(const std::vector<float>& found, const std::vector<float>& expected,
                  double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], tolerance) << "parameter " << i;
    }
  }

  // Two shards, two replicas, and one shard of two replicas end as one shard does.
  void ExpectDivisionsLearnTheSame(const TrainOptions& options, double tolerance) {
    const auto one = Run(options)[0].params;
    TrainOptions divided = options;
    divided.devices = {{}, {}};
    ExpectNear(Run(divided)[0].params, one, tolerance);
    divided.schedule.batch_size = options.schedule.batch_size / 2;
    const auto shards = Run(divided, 2);
    ExpectNear(shards[0].params, one, tolerance);
    EXPECT_EQ(shards[1].params, shards[0].params);
  }
};

// Each step is the unclipped one, scaled to the limit.
TEST_F(TrainNetsTest, ClippedStepsHaveTheLimitAsTheirNorm) {
  TrainOptions options = Plain();
  const auto start = ParamsAfter(options, 0), free = ParamsAfter(options, 1);
  double squares = 0;
  for (size_t i = 0; i < start.size(); ++i) squares += std::pow(start[i] - free[i], 2);
  const double rate = options.model.base_learning_rate, norm = std::sqrt(squares) / rate;
  options.model.clip_gradients = static_cast<float>(norm / 4);
  std::vector<float> expected = start;
  for (size_t i = 0; i < start.size(); ++i) expected[i] += (free[i] - start[i]) / 4;
  ExpectNear(ParamsAfter(options, 1), expected, 1e-6);
  // The decay is not part of the norm, and is not scaled.
  options.model.weight_decay = 0.5f;
  const auto decayed = ParamsAfter(options, 1);
  int decaying = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    const double with = expected[i] - rate * 0.5 * start[i];
    const bool is_weight = std::abs(decayed[i] - with) < 1e-6;
    EXPECT_TRUE(is_weight || std::abs(decayed[i] - expected[i]) < 1e-6) << i;
    decaying += is_weight && start[i] != 0;
  }
  EXPECT_GT(decaying, 16 * 16 * 16);
  options.model.weight_decay = 0;
  options.model.clip_gradients = static_cast<float>(norm * 2);
  EXPECT_EQ(ParamsAfter(options, 1), free);
}

TEST_F(TrainNetsTest, ClippingComesAfterTheSumOverShards) {
  TrainOptions options = Small("mlp");
  options.model.clip_gradients = 0.3f;
  EXPECT_NE(Run(options)[0].params, Run(Small("mlp"))[0].params);
  ExpectDivisionsLearnTheSame(options, 1e-6);
  ExpectContinuesToTheBit(options);
}

// The first step of Adam and, beside it, the decay of weights alone.
TEST_F(TrainNetsTest, AdamwDecaysWeightsBesidesTheStep) {
  TrainOptions options = Plain();
  const auto start = ParamsAfter(options, 0);
  options.model.base_learning_rate = 0.01f;
  options.model.optimizer = "adam";
  const auto adam = ParamsAfter(options, 1);
  options.model.optimizer = "adamw";
  EXPECT_EQ(ParamsAfter(options, 1), adam);
  options.model.weight_decay = 0.5f;
  const auto adamw = ParamsAfter(options, 1);
  int decaying = 0;
  for (size_t i = 0; i < start.size(); ++i) {  // biases start at 0
    EXPECT_NEAR(adamw[i], adam[i] - 0.01 * 0.5 * start[i], 1e-7) << i;
    decaying += start[i] != 0;
  }
  EXPECT_GT(decaying, 16 * 16 * 16);
  options.schedule.num_epochs = 3;
  ExpectDivisionsLearnTheSame(options, 1e-4);
  ExpectContinuesToTheBit(options);
}

// Without momentum and decay, the first step of a weight has the norm rate x trust x |weight|. It
// has the direction of the gradient. Biases do the step of SGD.
TEST_F(TrainNetsTest, LarsStepsAreAShareOfTheWeights) {
  TrainOptions options = Plain();
  const auto start = ParamsAfter(options, 0), sgd = ParamsAfter(options, 1);
  std::vector<int64_t> sizes;
  on_iteration_ = [&sizes](Trainer* trainer, int) {
    for (const std::string& name : trainer->nets().params) {
      const Blob* blob = trainer->workspace()->GetBlob(trainer->nets().scope + name);
      const Tensor& tensor = blob->Get<Tensor>();
      sizes.push_back(tensor.dim() > 1 ? tensor.numel() : -tensor.numel());
    }
  };
  options.model.optimizer = "lars";
  options.model.lars_trust = 0.02f;
  const auto lars = ParamsAfter(options, 1);
  on_iteration_ = nullptr;
  size_t begin = 0;
  for (const int64_t size : sizes) {
    const size_t end = begin + std::abs(size);
    double weight = 0, gradient = 0;
    for (size_t i = begin; i < end; ++i) {
      weight += std::pow(start[i], 2);
      gradient += std::pow(sgd[i] - start[i], 2);
    }
    const double factor = size < 0 ? 1 : 0.02 * std::sqrt(weight / gradient) * 0.05;
    for (size_t i = begin; i < end; ++i) {
      ASSERT_NEAR(lars[i], start[i] + factor * (sgd[i] - start[i]), 1e-6) << i;
    }
    begin = end;
  }
  EXPECT_EQ(begin, start.size());
  EXPECT_EQ(sizes.size(), 4u);
}

TEST_F(TrainNetsTest, LarsIsTheSameForAllDivisions) {
  TrainOptions options = Small("mlp");
  options.model.optimizer = "lars";
  options.model.lars_trust = 0.02f;
  options.model.weight_decay = 0.01f;
  ExpectDivisionsLearnTheSame(options, 1e-6);
  ExpectContinuesToTheBit(options);
}

// Each shard clips its own gradients between two averages.
TEST_F(TrainNetsTest, ShardsOfLocalSgdClipTheirOwn) {
  TrainOptions options = Plain();
  options.model.clip_gradients = 0.01f;
  options.schedule.sync_every = 1;
  options.schedule.batch_size = 4;
  options.schedule.max_iterations = 1;
  const auto start = ParamsAfter(Plain(), 0);
  const auto end = Run(options, 2)[0].params;
  double squares = 0;
  for (size_t i = 0; i < start.size(); ++i) squares += std::pow(end[i] - start[i], 2);
  const double limit = 0.01 * options.model.base_learning_rate;
  EXPECT_LT(std::sqrt(squares), limit * 0.9999);  // two steps of other directions
  EXPECT_GT(std::sqrt(squares), limit * 0.1);
}

}  // namespace
}  // namespace caffe2
