#include "train/evaluation.h"

#include <filesystem>

#include "caffe2/core/usage_error.h"
#include "tests/train/trainer_fixture.h"
#include "train/load_model.h"

namespace caffe2 {
namespace {

class EvaluationTest : public TrainerTest {
 protected:
  // A run that leaves a model and a checkpoint; its last test is what evaluations must find.
  TestReport Train(TrainOptions options, int shards = 1) {
    options.data.test_data = database_;
    options.schedule.num_epochs = 3;
    options.output.model_path = [this](int) { return Model(); };
    options.output.checkpoint_path = Checkpoint();
    options.output.checkpoint_every = 1000;
    return Run(options, shards)[0].log->tests.at(2);
  }

  TrainOptions Evaluating(TrainOptions options) const {
    options.data.test_data = database_;
    options.schedule.evaluate = true;
    options.output.checkpoint_path = Checkpoint();
    return options;
  }

  void ExpectSame(const TestReport& expected, TrainOptions options, int shards = 1) {
    options.shards.num_shards = shards;
    for (const ShardResult& shard : Run(ForEvaluation(options), shards)) {
      ASSERT_EQ(shard.log->tests.size(), 1u);
      EXPECT_TRUE(shard.log->iterations.empty());
      const TestReport& report = shard.log->tests[0];
      EXPECT_EQ(report.accuracy, expected.accuracy);
      EXPECT_NEAR(report.loss, expected.loss, 1e-6);
      EXPECT_EQ(report.images, 101);
      EXPECT_EQ(report.epoch, 2);
    }
  }

  std::string Model() const { return directory_.Path("model_3.mdl"); }
  std::string Checkpoint() const { return directory_.Path("checkpoint"); }
};

TEST_F(EvaluationTest, FindsTheAccuracyOfTheLastTest) {
  const TrainOptions options = Small("mlp");
  const TestReport last = Train(options);
  EXPECT_GT(last.accuracy, 0.5);
  TrainOptions evaluating = Evaluating(options);
  evaluating.output.load_model_path = Model();
  evaluating.output.load_epoch = 3;
  const auto written = std::filesystem::last_write_time(Checkpoint());
  ExpectSame(last, evaluating);
  ExpectSame(last, evaluating, /*shards=*/3);
  EXPECT_EQ(std::filesystem::last_write_time(Checkpoint()), written);
}

// Of a network with running statistics, which each shard has of its own; by flags that do not
// matter to a test.
TEST_F(EvaluationTest, ReadsCheckpointsOfAnyNumberOfShards) {
  TrainOptions options = Small("resnet20_cifar");
  options.schedule.epoch_size = 32;
  const TestReport last = Train(options, /*shards=*/2);
  TrainOptions evaluating = Evaluating(options);
  evaluating.output.resume = true;
  evaluating.model.optimizer = "adam";
  evaluating.model.base_learning_rate = 1.f;
  evaluating.schedule.batch_size = 5;
  ExpectSame(last, evaluating);
  ExpectSame(last, evaluating, /*shards=*/3);

  errors_expected_ = true;
  evaluating.data.mean = {7.f};
  const std::string error = Run(ForEvaluation(evaluating))[0].error;
  EXPECT_NE(error.find("mean (128 there, 7 now)"), std::string::npos) << error;
}

TEST_F(EvaluationTest, TestsTheImagesThatWereHeldOut) {
  TrainOptions options = Small("mlp");
  options.data.holdout = 0.3f;
  const TestReport last = Train(options);
  EXPECT_EQ(last.images, 30);
  TrainOptions evaluating = Evaluating(options);
  evaluating.output.resume = true;
  for (const int shards : {1, 3}) {
    evaluating.shards.num_shards = shards;
    const auto result = Run(ForEvaluation(evaluating), shards);
    ASSERT_EQ(result[0].log->tests.size(), 1u);
    EXPECT_EQ(result[0].log->tests[0].images, 30);
    EXPECT_EQ(result[0].log->tests[0].accuracy, last.accuracy);
    EXPECT_NEAR(result[0].log->tests[0].loss, last.loss, 1e-6);
  }
  evaluating.shards.num_shards = 1;
  TrainOptions whole = evaluating;
  whole.data.holdout = 0;
  EXPECT_EQ(Run(ForEvaluation(whole))[0].log->tests.at(0).images, 101);
  errors_expected_ = true;
  evaluating.data.holdout = 0.2f;  // would test images that were trained on
  const std::string error = Run(ForEvaluation(evaluating))[0].error;
  EXPECT_NE(error.find("holdout (0.3 there, 0.2 now)"), std::string::npos) << error;
}

TEST_F(EvaluationTest, NeedsImagesAndAModel) {
  const auto error_of = [](const TrainOptions& options) {
    try {
      ForEvaluation(options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  TrainOptions options = Small("mlp");
  options.output.resume = true;
  EXPECT_NE(error_of(options).find("--test_data"), std::string::npos);
  options.data.test_data = database_;
  EXPECT_EQ(error_of(options), "");
  options.output.resume = false;
  EXPECT_NE(error_of(options).find("--load_model_path, or --resume"), std::string::npos);
  options.output.auto_resume = true;
  EXPECT_NE(error_of(options).find("--auto_resume"), std::string::npos);
}

TEST_F(EvaluationTest, TopFiveIsForMoreThanFiveLabels) {
  TrainOptions options = Small("mlp");
  options.data.test_data = "images";
  options.output.load_model_path = "a.mdl";
  const TestReport report = {
      .images = 8, .loss = 0.25, .accuracy = 0.875, .accuracy_top5 = 1, .seconds = 1};
  EXPECT_EQ(DescribeEvaluation(options, report),
            "Evaluated a.mdl: accuracy 0.875, loss 0.25 (8 images of images)");
  options.model.shape.num_labels = 6;
  EXPECT_EQ(DescribeEvaluation(options, report),
            "Evaluated a.mdl: accuracy 0.875, top-5 accuracy 1, loss 0.25 (8 images of images)");
}

class FinetuneTest : public TrainerTest {
 protected:
  // The parameters of a run of no iteration, by their stripped names.
  std::map<std::string, std::vector<float>> Start(TrainOptions options) {
    options.schedule.num_epochs = 0;
    options.shards.run_id = "";
    Trainer trainer(options);
    trainer.Run();
    std::map<std::string, std::vector<float>> params;
    for (const std::string& name : trainer.nets().params) {
      const std::string blob = trainer.nets().scope + name;
      const Tensor& value = trainer.workspace()->GetBlob(blob)->Get<Tensor>();
      params[name] = {value.data<float>(), value.data<float>() + value.numel()};
    }
    return params;
  }
};

TEST_F(FinetuneTest, OnlyTheLastLayerStartsFresh) {
  TrainOptions options = Small("mlp");
  options.output.model_path = [this](int) { return directory_.Path("model_1.mdl"); };
  Run(options);
  options.output.model_path = nullptr;
  options.model.shape.num_labels = 7;
  const auto fresh = Start(options);
  options.output.load_model_path = directory_.Path("model_1.mdl");
  options.output.finetune = true;
  const auto finetuned = Start(options);
  ASSERT_EQ(LastLayerParams(options), (std::vector<std::string>{"pred_w", "pred_b"}));
  for (const auto& [name, value] : finetuned) {
    if (name.compare(0, 4, "pred") == 0) {
      EXPECT_EQ(value, fresh.at(name)) << name;
    } else {
      EXPECT_NE(value, fresh.at(name)) << name;
    }
  }
  options.output.finetune = false;
  EXPECT_THROW(
      {
        try {
          Start(options);
        } catch (const EnforceNotMet& error) {
          EXPECT_NE(std::string(error.what()).find("add --finetune"), std::string::npos)
              << error.what();
          throw;
        }
      },
      EnforceNotMet);
}

// The last layers of ResNets have the number of labels in their names.
TEST_F(FinetuneTest, TheLastLayerMayHaveAnotherName) {
  TrainOptions options = Small("resnet20_cifar");
  options.schedule.epoch_size = 8;
  options.output.model_path = [this](int) { return directory_.Path("model_1.mdl"); };
  Run(options);
  options.output.model_path = nullptr;
  options.output.load_model_path = directory_.Path("model_1.mdl");
  options.output.finetune = true;
  options.model.shape.num_labels = 7;
  EXPECT_NO_THROW(Start(options));
  options.model.network = "mlp";
  EXPECT_THROW(Start(options), EnforceNotMet) << "a model of another network is no start";
}

}  // namespace
}  // namespace caffe2
