#include "train/fusion_autotuner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe2/core/operator.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"
#include "tests/operators/bottleneck_net.h"

namespace caffe2 {
namespace {

class FusionAutotunerTest : public ::testing::Test {
 protected:
  FusionAutotunerTest() {
    std::string name = ::testing::TempDir() + "/forms.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FusionAutotunerTest() override { std::filesystem::remove_all(folder_); }

  // A residual network for small images.
  struct Model {
    Model() : helper("model", {.order = "NHWC"}) {
      NetworkOptions shape;
      shape.image_size = 8;
      shape.num_labels = 10;
      AddNetwork(&helper, "resnet20_cifar", "data", shape);
      shapes = InferBlobShapesAndTypes({}, {helper.param_init_net()});
      shapes["data"] = CreateTensorShape({2, 8, 8, 3}, TensorProto::FLOAT);
    }
    FusionChoices Choose(FusionAutotuner* tuner) {
      return tuner->Choose(*helper.net(), TrainingPasses());
    }
    ModelHelper helper;
    std::map<std::string, TensorShape> shapes;
  };
  FusionAutotunerOptions Options(const Model& model) const {
    return {.cache = PlanCache(folder_), .shapes = model.shapes, .broadcast = nullptr};
  }
  // Makes all answers that are kept the same.
  void Keep(const std::string& answer) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::string key;
      std::ifstream file(entry.path());
      std::getline(file, key);
      file.close();
      std::ofstream(entry.path()) << key << "\n" << answer << "\n";
    }
  }

  std::string folder_;
};

TEST_F(FusionAutotunerTest, MeasuresEqualCandidatesOnceAndKeepsTheAnswers) {
  Model model;
  FusionAutotuner tuner(Options(model));
  const FusionChoices choices = model.Choose(&tuner);
  EXPECT_GT(choices.size(), 19u) << "each convolution, at least";
  EXPECT_GT(tuner.measured(), 3);
  EXPECT_LT(tuner.measured(), static_cast<int>(choices.size())) << "layers repeat";
  // Another process takes what is kept; it is what decides.
  for (const std::string word : {"fused", "plain"}) {
    Keep(word);
    FusionAutotuner again(Options(model));
    const FusionChoices kept = model.Choose(&again);
    EXPECT_EQ(kept.at("SpatialBNRelu conv1_spatbn_relu"), word == "fused");
    if (word == "plain") {
      EXPECT_EQ(again.measured(), 0);
    }
  }
}

TEST_F(FusionAutotunerTest, WhatIsNoAnswerIsMeasuredAgain) {
  Model model;
  FusionAutotuner tuner(Options(model));
  model.Choose(&tuner);
  for (const std::string damaged : {"", "no word"}) {
    Keep(damaged);
    FusionAutotuner again(Options(model));
    model.Choose(&again);
    EXPECT_GT(again.measured(), 0) << damaged;
  }
}

TEST_F(FusionAutotunerTest, NothingIsMeasuredWithoutAFolder) {
  Model model;
  FusionAutotunerOptions options = Options(model);
  options.cache = PlanCache("");
  FusionAutotuner tuner(options);
  EXPECT_EQ(model.Choose(&tuner), FusionChoices());
  EXPECT_EQ(tuner.measured(), 0);
}

TEST_F(FusionAutotunerTest, UnknownShapesHaveNoAnswer) {
  Model model;
  model.shapes.erase("data");
  FusionAutotuner tuner(Options(model));
  EXPECT_EQ(model.Choose(&tuner), FusionChoices());
}

// Also the ends of blocks, with plain and with normalized shortcuts.
TEST_F(FusionAutotunerTest, VariantsOfBottlenecksCanBeCompared) {
  ModelHelper helper("model", {.order = "NHWC"});
  testing::AddBottlenecks(&helper, "data", 8, 4);
  FuseOperators(helper.net(), {});
  FusionAutotunerOptions options{.cache = PlanCache(folder_), .broadcast = nullptr};
  options.shapes = InferBlobShapesAndTypes({}, {helper.param_init_net()});
  options.shapes["data"] = CreateTensorShape({2, 6, 6, 8}, TensorProto::FLOAT);
  FusionAutotuner tuner(options);
  std::map<std::string, int> asked;
  FuseConvolutionsWithNorms(
      helper.net(), ConvNormFusion::kNone, {}, [&](const FusionCandidate& candidate) {
        const std::string& type = candidate.fused.op(candidate.fused.op_size() - 1).type();
        EXPECT_TRUE(tuner.Compare(candidate).has_value()) << type;
        ++asked[type];
        return true;  // so that what follows from it is asked for, too
      });
  EXPECT_EQ(asked["NormSumNormRelu"], 2);
  EXPECT_EQ(asked["NormSumNormReluConvStats"], 2);
  EXPECT_EQ(asked["NormSumReluConvStats"], 1);
}

// Shard 0 measures; what it says goes for shard 1, which must have the same candidates.
TEST_F(FusionAutotunerTest, ShardsGetTheAnswersOfTheFirst) {
  std::vector<std::string> said;
  Model model;
  FusionAutotunerOptions options = Options(model);
  options.broadcast = [&said](const std::string& text) { return said.emplace_back(text); };
  FusionAutotuner speaker(options);
  const FusionChoices choices = model.Choose(&speaker);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_GT(speaker.measured(), 0);
  options.measures = false;
  options.broadcast = [&said](const std::string& text) {
    EXPECT_EQ(text, "");
    return said[0];
  };
  FusionAutotuner listener(options);
  EXPECT_EQ(model.Choose(&listener), choices);
  EXPECT_EQ(listener.measured(), 0);

  options.shapes["data"].set_dims(0, 4);
  FusionAutotuner other(options);
  EXPECT_THROW(model.Choose(&other), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
