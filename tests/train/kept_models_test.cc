#include "train/kept_models.h"

#include <filesystem>
#include <fstream>

#include "tests/train/trainer_fixture.h"
#include "train/predictor.h"

namespace caffe2 {
namespace {

TEST(KeptModelsTest, RemovesTheOldest) {
  const testing::TemporaryDirectory directory;
  const auto path = [&](int i) { return directory.Path("model_" + std::to_string(i)); };
  for (int i = 0; i < 6; ++i) std::ofstream(path(i)) << "model";
  KeptModels kept(2), all(0);
  for (const int i : {1, 2, 3, 3, 4}) kept.Add(path(i));
  for (const int i : {0, 5}) all.Add(path(i));
  EXPECT_EQ(kept.paths(), (std::deque<std::string>{path(3), path(4)}));
  for (const int i : {0, 3, 4, 5}) EXPECT_TRUE(std::filesystem::exists(path(i))) << i;
  for (const int i : {1, 2}) EXPECT_FALSE(std::filesystem::exists(path(i))) << i;
}

TEST(BestTestTest, IsTheFirstOfTheBest) {
  BestTest best;
  EXPECT_FALSE(best.IsOverdue(7, 1)) << "nothing was tested yet";
  EXPECT_TRUE(best.Update(0.0, 0));
  EXPECT_TRUE(best.Update(0.5, 1));
  EXPECT_FALSE(best.Update(0.5, 2));
  EXPECT_FALSE(best.Update(0.4, 3));
  EXPECT_EQ(best.epoch, 1);
  EXPECT_FALSE(best.IsOverdue(3, 3));
  EXPECT_TRUE(best.IsOverdue(3, 2));
  EXPECT_FALSE(best.IsOverdue(100, 0)) << "there is no end to the patience";
  EXPECT_TRUE(best.Update(0.6, 4));
  EXPECT_FALSE(best.IsOverdue(4, 1));
}

class BestModelTest : public TrainerTest {
 protected:
  TrainOptions Options() const {
    TrainOptions options = Small("mlp");
    options.data.test_data = database_;
    options.schedule.num_epochs = 6;
    options.output.model_path = [this](int epoch) {
      return directory_.Path("model_" + std::to_string(epoch) + ".mdl");
    };
    options.output.best_model_path = directory_.Path("model_best.mdl");
    return options;
  }

  static int BestEpoch(const std::vector<TestReport>& tests) {
    size_t best = 0;
    for (size_t i = 1; i < tests.size(); ++i) {
      if (tests[i].accuracy > tests[best].accuracy) best = i;
    }
    return static_cast<int>(best);
  }

  static bool SameParameters(const std::string& a, const std::string& b) {
    Workspace first, second;
    const Predictor predictor = LoadPredictor(a, &first);
    LoadPredictor(b, &second);
    for (const std::string& name : predictor.parameters) {
      const auto& x = first.GetBlob(name)->Get<Tensor>();
      const auto& y = second.GetBlob(name)->Get<Tensor>();
      if (std::memcmp(x.raw_data(), y.raw_data(), x.nbytes()) != 0) return false;
    }
    return true;
  }
};

TEST_F(BestModelTest, KeepsTheBestBesideTheLast) {
  TrainOptions options = Options();
  options.output.keep_best = true;
  options.output.keep_models = 0;
  const auto tests = Run(options)[0].log->tests;
  const int best = BestEpoch(tests);
  for (int epoch = 0; epoch < 6; ++epoch) {
    EXPECT_EQ(SameParameters(options.output.best_model_path, options.output.model_path(epoch + 1)),
              epoch == best)
        << epoch;
  }
  options.output.keep_models = 2;
  for (int epoch = 1; epoch <= 6; ++epoch) {
    std::filesystem::remove(options.output.model_path(epoch));
  }
  Run(options);
  for (int epoch = 1; epoch <= 6; ++epoch) {
    EXPECT_EQ(std::filesystem::exists(options.output.model_path(epoch)), epoch > 4) << epoch;
  }
  EXPECT_TRUE(std::filesystem::exists(options.output.best_model_path));
}

// The rate is so small that the accuracy does not change from the first test on.
TEST_F(BestModelTest, StopsAllShardsWithoutABetterTest) {
  TrainOptions options = Options();
  options.model.base_learning_rate = 1e-9f;
  options.schedule.patience = 2;
  for (const int shards : {1, 2}) {
    for (const ShardResult& shard : Run(options, shards)) {
      EXPECT_EQ(shard.log->epochs.size(), 3u);
      EXPECT_EQ(shard.signal, 0);
    }
  }
}

TEST_F(BestModelTest, AResumedRunKnowsTheBest) {
  TrainOptions options = Options();
  options.model.base_learning_rate = 1e-9f;
  options.schedule.patience = 3;
  options.output.keep_best = true;
  options.output.checkpoint_path = directory_.Path("checkpoint");
  options.output.checkpoint_every = 1000;
  options.schedule.max_iterations = 20;  // two of the four epochs that the patience gives it
  EXPECT_EQ(Run(options)[0].log->epochs.size(), 2u);
  const auto written = std::filesystem::last_write_time(options.output.best_model_path);
  options.schedule.max_iterations = 0;
  options.output.resume = true;
  EXPECT_EQ(Run(options)[0].log->epochs.size(), 2u);
  EXPECT_EQ(std::filesystem::last_write_time(options.output.best_model_path), written)
      << "a test that was no better than the best of the checkpoint replaced the best model";
  EXPECT_TRUE(Run(options)[0].log->epochs.empty()) << "the patience had ended";
}

TEST_F(BestModelTest, NeedsTestsAndModels) {
  errors_expected_ = true;
  TrainOptions options = Options();
  options.output.keep_best = true;
  options.data.test_data = "";
  EXPECT_NE(Run(options)[0].error.find("--keep_best needs --test_data"), std::string::npos);
  options.output.keep_best = false;
  options.schedule.patience = 2;
  EXPECT_NE(Run(options)[0].error.find("--patience needs --test_data"), std::string::npos);
  options = Options();
  options.output.keep_best = true;
  options.output.model_path = nullptr;
  EXPECT_NE(Run(options)[0].error.find("--keep_best needs a name"), std::string::npos);
  options = Options();
  options.output.keep_models = -1;
  EXPECT_NE(Run(options)[0].error.find("--keep_models is -1"), std::string::npos);
}

}  // namespace
}  // namespace caffe2
