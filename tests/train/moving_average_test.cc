#include "train/moving_average.h"

#include <cmath>

#include "tests/train/trainer_fixture.h"
#include "train/predictor.h"

namespace caffe2 {
namespace {

TEST(AverageDecayTest, GrowsToItsLimit) {
  EXPECT_DOUBLE_EQ(AverageDecay(0.99, 1, 1), 2. / 11);
  EXPECT_DOUBLE_EQ(AverageDecay(0.99, 8, 8), std::pow(0.5, 8));
  EXPECT_DOUBLE_EQ(AverageDecay(0.99, 890, 1), 0.99);  // 891 / 900
  EXPECT_DOUBLE_EQ(AverageDecay(0.99, 1000, 3), 0.99 * 0.99 * 0.99);
}

using Values = std::vector<double>;

// The values of these blobs of the first replica, one after another.
Values ValuesOf(Trainer* trainer, const std::vector<std::string>& names) {
  Values values;
  for (const std::string& name : names) {
    const std::string blob = trainer->nets().scope + name;
    const Tensor& tensor = trainer->workspace()->GetBlob(blob)->Get<Tensor>();
    values.insert(values.end(), tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  return values;
}

// Parameters and running statistics.
Values ModelOf(Trainer* trainer) {
  std::vector<std::string> names = trainer->nets().params;
  const auto& computed = trainer->nets().computed_params;
  names.insert(names.end(), computed.begin(), computed.end());
  return ValuesOf(trainer, names);
}

Values AverageOf(Trainer* trainer) {
  std::vector<std::string> names = trainer->nets().ema.params;
  const auto& computed = trainer->nets().ema.computed_params;
  names.insert(names.end(), computed.begin(), computed.end());
  return ValuesOf(trainer, names);
}

void ExpectNear(const Values& a, const Values& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

class MovingAverageTest : public TrainerTest {
 protected:
  // Of a network with running statistics.
  TrainOptions Averaged(double decay, int64_t every) const {
    TrainOptions options = Small("resnet20_cifar");
    options.model.ema_decay = decay;
    options.model.ema_every = every;
    options.schedule.epoch_size = 72;  // 9 iterations
    return options;
  }

  // The model before the first iteration.
  Values Start(TrainOptions options) {
    options.schedule.num_epochs = 0;
    Trainer trainer(options);
    trainer.Run();
    return ModelOf(&trainer);
  }
};

class MovingAverageOfShards : public MovingAverageTest,
                              public ::testing::WithParamInterface<int> {};

// The formula, over the model after each iteration of shard 0.
TEST_P(MovingAverageOfShards, FollowsTheModel) {
  constexpr double kDecay = 0.4;
  for (const int64_t every : {1, 4}) {
    TrainOptions options = Averaged(kDecay, every);
    options.schedule.batch_size = 8 / GetParam();
    Values expected = Start(options), found;
    Values model = expected;
    on_iteration_ = [&](Trainer* trainer, int shard) {
      if (shard != 0) return;
      model = ModelOf(trainer);
      found = AverageOf(trainer);
      const auto iterations = static_cast<double>(trainer->progress().total_iterations);
      if (std::fmod(iterations, static_cast<double>(every)) != 0) return;
      const double decay = std::pow(std::min(kDecay, (1 + iterations) / (10 + iterations)), every);
      for (size_t i = 0; i < model.size(); ++i) {
        expected[i] = decay * expected[i] + (1 - decay) * model[i];
      }
    };
    Run(options, GetParam());
    ExpectNear(found, expected, 1e-5);
    EXPECT_NE(found, model);
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, MovingAverageOfShards, ::testing::Values(1, 2));

TEST_F(MovingAverageTest, TrainingDoesNotReadIt) {
  TrainOptions options = Averaged(0.9, 1);
  const auto with = Run(options)[0].params;
  options.model.ema_decay = 0;
  EXPECT_EQ(Run(options)[0].params, with);
}

// With local SGD the parameters are equal only after an exchange.
TEST_F(MovingAverageTest, WaitsForTheExchangeOfLocalSgd) {
  TrainOptions options = Averaged(0.4, 2);
  options.schedule.sync_every = 3;
  Values expected = Start(options), found;
  on_iteration_ = [&](Trainer* trainer, int shard) {
    const double n = static_cast<double>(trainer->progress().total_iterations);
    EXPECT_EQ(std::fmod(n, 3), 0);  // reports come with exchanges
    if (shard != 0) return;
    const double decay = std::pow(std::min(0.4, (1 + n) / (10 + n)), 2);
    const Values model = ModelOf(trainer);
    for (size_t i = 0; i < model.size(); ++i) {
      expected[i] = decay * expected[i] + (1 - decay) * model[i];
    }
    found = AverageOf(trainer);
  };
  options.schedule.batch_size = 4;
  const auto shards = Run(options, 2);
  ExpectNear(found, expected, 1e-5);
}

// Two replicas, whose running statistics differ.
TEST_F(MovingAverageTest, IsWhatTestsAndSavedModelsUse) {
  TrainOptions options = Averaged(0.9, 1);
  options.devices = {Device{}, Device{}};
  options.data.test_data = database_;
  const std::string path = directory_.Path("model.mdl");
  options.output.model_path = [path](int) { return path; };
  const auto log = std::make_shared<Recorder>();
  Trainer trainer(options, log);
  trainer.Run();

  Workspace ws;
  LoadPredictor(path, &ws);
  const TrainNets& nets = trainer.nets();
  const auto blob = [&](const std::string& name) -> const Tensor& {
    return trainer.workspace()->GetBlob(name)->Get<Tensor>();
  };
  for (size_t i = 0; i < nets.params.size(); ++i) {
    const Tensor& saved = ws.GetBlob(nets.params[i])->Get<Tensor>();
    const Tensor& average = blob(nets.scope + nets.ema.params[i]);
    for (int64_t k = 0; k < saved.numel(); ++k) {
      ASSERT_EQ(saved.data<float>()[k], average.data<float>()[k]) << nets.params[i];
    }
  }
  for (size_t i = 0; i < nets.computed_params.size(); ++i) {
    const Tensor& saved = ws.GetBlob(nets.computed_params[i])->Get<Tensor>();
    const float* first = blob(nets.scopes[0] + nets.ema.computed_params[i]).data<float>();
    const float* second = blob(nets.scopes[1] + nets.ema.computed_params[i]).data<float>();
    for (int64_t k = 0; k < saved.numel(); ++k) {
      ASSERT_NEAR(saved.data<float>()[k], (first[k] + second[k]) / 2, 1e-6);
    }
  }

  options.model.ema_decay = 0;
  options.schedule.evaluate = true;
  options.output.model_path = nullptr;
  options.output.load_model_path = path;
  EXPECT_EQ(Run(options)[0].log->tests.at(0).loss, log->tests.at(0).loss);
}

TEST_F(MovingAverageTest, BeginsWithALoadedModel) {
  TrainOptions options = Averaged(0, 1);
  const std::string path = directory_.Path("model.mdl");
  options.output.model_path = [path](int) { return path; };
  Run(options);
  options.output.model_path = nullptr;
  options.output.load_model_path = path;
  options.model.ema_decay = 0.9;
  options.schedule.num_epochs = 0;
  Trainer trainer(options);
  trainer.Run();
  EXPECT_EQ(ModelOf(&trainer), AverageOf(&trainer));
}

class ResumedMovingAverage : public MovingAverageTest, public ::testing::WithParamInterface<int> {};

// Between two updates of the average: 7 + 11 iterations against 18.
TEST_P(ResumedMovingAverage, ContinuesToTheBit) {
  TrainOptions options = Averaged(0.95, 3);
  options.schedule.num_epochs = 100;
  options.schedule.batch_size = 4;
  options.data.test_data = database_;
  options.schedule.max_iterations = 18;
  const auto whole = Run(options, GetParam());
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 100;  // and at the end
  options.schedule.max_iterations = 7;
  Run(options, GetParam());
  options.output.resume = true;
  options.schedule.max_iterations = 18;
  const auto resumed = Run(options, GetParam());
  for (int s = 0; s < GetParam(); ++s) {
    EXPECT_EQ(whole[s].state, resumed[s].state) << "shard " << s;
    EXPECT_EQ(whole[s].log->tests.back().loss, resumed[s].log->tests.back().loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, ResumedMovingAverage, ::testing::Values(1, 2));

TEST_F(MovingAverageTest, IsEvaluatedFromACheckpoint) {
  TrainOptions options = Averaged(0.9, 1);
  options.data.test_data = database_;
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 100;
  const double loss = Run(options)[0].log->tests.at(0).loss;
  options.output.checkpoint_every = 0;
  options.output.resume = true;
  options.schedule.evaluate = true;
  EXPECT_EQ(Run(options)[0].log->tests.at(0).loss, loss);
  errors_expected_ = true;
  options.model.ema_decay = 0;
  EXPECT_NE(Run(options)[0].error.find("ema_decay (0.9 there, 0 now)"), std::string::npos);
}

}  // namespace
}  // namespace caffe2
